/* Asks the relay of this machine for /healthz, for images and probes that have no HTTP client. */
#include "cli/cli.h"

#include "base/clock.h"
#include "http/listen.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP_MS 1000
#define WHOLE_MS 3000
#define ANSWER_BYTES 4096

/* The server closes the connection behind its answer. */
static void read_answer(int fd, char answer[ANSWER_BYTES])
{
    int64_t deadline_ms = clock_now_ms() + WHOLE_MS;
    size_t len = 0;
    ssize_t got = 1;

    while (got > 0 && len < ANSWER_BYTES - 1 && clock_left_ms(deadline_ms) > 0) {
        got = recv(fd, answer + len, ANSWER_BYTES - 1 - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    answer[len] = '\0';
}

enum exit_status cli_health(const struct arguments *arguments, struct config *config)
{
    static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
    char answer[ANSWER_BYTES] = "";
    const char *body;
    struct error error;
    int fd;

    (void)arguments;
    if (config->http_listen[0] == '\0') {
        cli_say("[http] listen is \"\", so no relay can be asked");
        return EXIT_USAGE;
    }
    fd = listen_reach(config->http_listen, STEP_MS, &error);
    if (fd < 0) {
        (void)error_hint(&error, "start `%s run` with this configuration", source_program);
        return cli_fail(&error);
    }
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1)
        read_answer(fd, answer);
    (void)close(fd);
    body = strstr(answer, "\r\n\r\n");
    if (strncmp(answer, "HTTP/1.", 7) != 0 || body == NULL) {
        cli_say("%s does not answer", config->http_listen);
        return EXIT_RUNTIME;
    }
    (void)fputs(body + 4, stdout);
    return strncmp(answer + 8, " 200 ", 5) == 0 ? EXIT_DONE : EXIT_RUNTIME;
}
