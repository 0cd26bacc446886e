#include "cli/progress.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define DRAW_MS 200
#define LINE_MS 10000

static bool draws(void)
{
    return isatty(STDERR_FILENO) == 1;
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
    (void)fprintf(stderr, "%s%s %" PRId64 "%s%s%s", draws() ? "\r" : "", progress->what, done,
                  total, left, draws() ? "\033[K" : "\n");
    (void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown > 0 && draws())
        (void)fprintf(stderr, "\r\033[K");
}
