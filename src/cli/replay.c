#include "cli/cli.h"

#include "admin/parked/replay.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define STEP_ROWS_MAX 1000

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first signal lets the current step finish. A second one ends the program, and PostgreSQL
 * rolls the step back. */
static void hear_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static int check(const struct arguments *arguments, struct error *error)
{
    bool filter = arguments->topic != NULL || arguments->since != NULL;
    const char *why = NULL;

    if (!cli_is_utf8(arguments))
        why = "an argument is not UTF-8";
    else if (filter && arguments->operand_count > 0)
        why = "give ids, or --topic and --since, not both";
    else if (!filter && arguments->operand_count == 0)
        why = "give row ids or event_ids, or --topic or --since";
    return why == NULL ? 0 : cli_refuse("replay", why, error);
}

static void print_row(void *closure, const char *id, const char *sent_at, const char *topic)
{
    char safe_id[256];
    char safe_topic[512];

    (void)closure;
    (void)printf("%s  sent %s  %s\n", terminal_text(safe_id, sizeof safe_id, text_of(id), false),
                 sent_at, terminal_text(safe_topic, sizeof safe_topic, text_of(topic), false));
}

/* Waits until the rows copied so far are within the rate. */
static void pace(int64_t began_ms, int64_t replayed, int64_t rate)
{
    int64_t left_ms;

    while (interrupted == 0 && (left_ms = clock_left_ms(began_ms + replayed * 1000 / rate)) > 0)
        (void)poll(NULL, 0, left_ms < 100 ? (int)left_ms : 100);
}

/* Returns how many rows were copied. -1: *error says why, and how many were copied before. */
int64_t cli_copy_rows(struct replay *replay, int64_t total, int64_t rate, struct error *error)
{
    struct progress progress;
    int64_t began_ms = clock_now_ms();
    int64_t replayed = 0;

    progress_begin(&progress, "replayed", total);
    while (!admin_replay_is_done(replay) && interrupted == 0) {
        int count =
            admin_replay_step(replay, rate < STEP_ROWS_MAX ? (int)rate : STEP_ROWS_MAX, error);

        if (count < 0) {
            struct error cause = *error;

            progress_end(&progress);
            if (replayed > 0)
                (void)error_set(error, cause.kind, cause.origin,
                                "%.500s (%" PRId64 " rows were replayed, up to id %.64s)",
                                cause.text, replayed, admin_replay_last_id(replay));
            return -1;
        }
        replayed += count;
        progress_show(&progress, replayed, total > replayed ? (total - replayed) * 1000 / rate : 0);
        if (!admin_replay_is_done(replay))
            pace(began_ms, replayed, rate);
    }
    progress_end(&progress);
    return replayed;
}

static int work(struct replay *replay, const struct arguments *arguments, struct error *error)
{
    const struct replay_rows rows = {.on_row = arguments->dry_run ? print_row : NULL};
    int64_t rate = arguments->rate > 0 ? arguments->rate : REPLAY_RATE;
    int64_t total = admin_replay_count(replay, arguments->dry_run ? &rows : NULL, error);
    int64_t replayed;

    if (total < 0)
        return -1;
    if (arguments->dry_run) {
        (void)printf("would replay %" PRId64 "\n", total);
        return 0;
    }
    hear_interrupts();
    replayed = cli_copy_rows(replay, total, rate, error);
    if (replayed < 0)
        return -1;
    (void)printf("replayed %" PRId64 "\n", replayed);
    if (replayed > 0 && admin_replay_finish(replay, error) < 0)
        return -1;
    if (interrupted != 0 && !admin_replay_is_done(replay))
        return error_set(error, ERROR_TRANSIENT, ERROR_SELF,
                         "interrupted after %" PRId64 " of %" PRId64 " rows, up to id %.64s",
                         replayed, total, admin_replay_last_id(replay));
    return 0;
}

enum exit_status cli_replay(const struct arguments *arguments, struct config *config)
{
    const struct replay_request request = {.ids = arguments->operands,
                                           .id_count = arguments->operand_count,
                                           .topic = arguments->topic,
                                           .since = arguments->since};
    struct error error;
    struct admin *admin;
    struct replay *replay = NULL;
    int status = -1;

    if (check(arguments, &error) < 0)
        return cli_fail(&error);
    admin = arguments->dry_run ? admin_open(&config->relay.outbox, &error)
                               : admin_open_to_write(&config->relay.outbox, &error);
    if (admin != NULL)
        replay = admin_replay_open(admin, &request, &error);
    if (replay != NULL)
        status = work(replay, arguments, &error);
    admin_replay_close(replay);
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
