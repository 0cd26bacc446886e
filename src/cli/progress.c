#include "cli/progress.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAW_MS 200
#define LINE_MS 10000

static bool draws(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void progress_begin(struct progress *progress, const char *what, int64_t total)
{
    *progress = (struct progress){.what = what, .total = total, .began_ms = clock_now_ms()};
    progress->shown_ms = progress->began_ms;
}

static int64_t judge_left_ms(const struct progress *progress, int64_t done)
{
    int64_t took_ms = clock_now_ms() - progress->began_ms;

    if (progress->total < done || done == 0)
        return -1;
    return took_ms * (progress->total - done) / done;
}

void progress_show(struct progress *progress, int64_t done, int64_t left_ms)
{
    int64_t now_ms = clock_now_ms();
    char total[32] = "";
    char left[64] = "";

    if (now_ms - progress->shown_ms < (draws() ? DRAW_MS : LINE_MS))
        return;
    progress->shown_ms = now_ms;
    progress->shown++;
    if (left_ms < 0)
        left_ms = judge_left_ms(progress, done);
    if (progress->total >= done)
        (void)snprintf(total, sizeof total, " of %" PRId64, progress->total);
    if (left_ms >= 0)
        (void)snprintf(left, sizeof left, ", about %" PRId64 " s left", (left_ms + 999) / 1000);
    /* The cursor returns to the start of the line, so that a log line overwrites this one. */
    if (draws())
        (void)fprintf(stderr, "%s %" PRId64 "%s%s\033[K\r", progress->what, done, total, left);
    else
        log_info("%s %" PRId64 "%s%s", progress->what, done, total, left);
    (void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown > 0 && draws())
        (void)fprintf(stderr, "\033[K");
}
