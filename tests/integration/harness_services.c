/* The servers of tests/support/services, and what the tests of this program have done to them. */
#include "integration/harness_services.h"

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *name;
    bool down;
    bool paused;
} servers[] = {{.name = "nats"}, {.name = "kafka"}};

static int run(const char *verb, const char *server)
{
    char command[128];

    (void)snprintf(command, sizeof command, "tests/support/services %s %s 2>&1", verb, server);
    return system(command);
}

void services(const char *verb, const char *server)
{
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        if (strcmp(servers[i].name, server) == 0) {
            servers[i].down = strcmp(verb, "kill") == 0 || strcmp(verb, "stop") == 0;
            servers[i].paused = strcmp(verb, "pause") == 0;
        }
    assert_int_equal(run(verb, server), 0);
}

void services_restore(void)
{
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        if (servers[i].down || servers[i].paused) {
            (void)run(servers[i].down ? "start" : "resume", servers[i].name);
            servers[i].down = false;
            servers[i].paused = false;
        }
}
