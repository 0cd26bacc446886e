#include "base/supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

static int receiver = -1;
static char received[1024];

/* Binds to the address; '@' stands for the zero byte of an abstract one. */
static void listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    receiver = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(receiver >= 0);
    assert_int_equal(bind(receiver, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
}

static const char *receive(void)
{
    ssize_t len = recv(receiver, received, sizeof received - 1, 0);

    received[len > 0 ? len : 0] = '\0';
    return received;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(receiver);
    return unsetenv("NOTIFY_SOCKET");
}

FIXTURE(NULL, tear_down)

TEST(a_message_arrives_at_a_path)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/tmp/supervisor-%d", (int)getpid());
    listen_at(path);
    supervisor_notify("READY=1\nSTATUS=sent %d", 7);
    assert_string_equal(receive(), "READY=1\nSTATUS=sent 7");
    (void)unlink(path);
}

/* alarm(2) would end a call that blocked. */
TEST(a_supervisor_that_does_not_read_blocks_nobody)
{
    char name[64];

    (void)snprintf(name, sizeof name, "@supervisor-full-%d", (int)getpid());
    listen_at(name);
    (void)alarm(20);
    for (int i = 0; i < 10000; i++)
        supervisor_notify("WATCHDOG=1");
    (void)alarm(0);
    assert_string_equal(receive(), "WATCHDOG=1");
}
