/*
 * What a stream's settings and state do with messages: what `check` says of it.
 */

#include "broker/nats/nats.h"
#include "route/match.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_BYTES_MAX 640
/* Of the server's memory, for each message id in the duplicate window: measured (docs/messages.md).
 */
#define WINDOW_ID_BYTES 205
#define WINDOW_BYTES_CHEAP 256e6
#define RATE_MS_MIN 60000 /* a rate is told of so long a time, and of so many messages */
#define RATE_MESSAGES_MIN 100

static struct finding *add(const struct nats *nats, struct findings *findings,
                           enum finding_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static struct finding *add(const struct nats *nats, struct findings *findings,
                           enum finding_level level, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return findings_add(findings, level, "sink %s, stream \"%s\": %s", nats->base.options->name,
                        nats->base.options->stream, text);
}

static void set_fix(const struct nats *nats, struct finding *finding, const char *option)
{
    finding_fix(finding, "nats stream edit %s %s", nats->base.options->stream, option);
}

static void warn_of_limits(const struct nats *nats, const json_t *info, struct findings *findings)
{
    static const char *const limits[] = {"max_bytes", "max_msgs", "max_msgs_per_subject"};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        json_int_t limit = json_integer_value(nats_setting(info, limits[i]));

        if (limit > 0 && strcmp(nats_setting_text(info, "discard"), "new") != 0)
            set_fix(nats,
                    add(nats, findings, FINDING_WARNING,
                        "%s = %lld with discard \"old\": a full stream drops its oldest"
                        " messages, whether they were consumed or not",
                        limits[i], (long long)limit),
                    "--discard new");
    }
}

/* With discard "new" a full stream refuses messages. Its bytes are used up when a message of its
 * average size does not fit. */
static void report_full(const struct nats *nats, const json_t *info, struct findings *findings)
{
    const json_t *state = json_object_get(info, "state");
    json_int_t messages = json_integer_value(json_object_get(state, "messages"));
    json_int_t bytes = json_integer_value(json_object_get(state, "bytes"));
    json_int_t messages_max = json_integer_value(nats_setting(info, "max_msgs"));
    json_int_t bytes_max = json_integer_value(nats_setting(info, "max_bytes"));
    bool is_full = (messages_max > 0 && messages >= messages_max) ||
                   (bytes_max > 0 && messages > 0 && bytes + bytes / messages > bytes_max);

    if (!is_full || strcmp(nats_setting_text(info, "discard"), "new") != 0)
        return;
    set_fix(nats,
            add(nats, findings, FINDING_ERROR,
                "it is full and refuses messages: it holds %lld messages (max_msgs %lld) of %lld"
                " bytes (max_bytes %lld)",
                (long long)messages, (long long)messages_max, (long long)bytes,
                (long long)bytes_max),
            "--max-msgs ... --max-bytes ...; or let consumers acknowledge");
}

/* A stream that takes no messages, whatever they are. */
static void report_refusals(const struct nats *nats, const json_t *info, struct findings *findings)
{
    const json_t *mirror = nats_setting(info, "mirror");
    const char *origin = json_string_value(json_object_get(mirror, "name"));

    if (json_is_object(mirror)) {
        finding_fix(add(nats, findings, FINDING_ERROR,
                        "it is a mirror: only the stream that it copies takes messages"),
                    "stream = \"%s\" in [sink.%s]", origin != NULL ? origin : "...",
                    nats->base.options->name);
    }
    if (json_is_true(nats_setting(info, "sealed"))) {
        finding_fix(
            add(nats, findings, FINDING_ERROR, "it is sealed and takes no messages any more"),
            "sealing cannot be undone: add another stream, and move the subjects to it");
    }
    report_full(nats, info, findings);
}

static void report_retention(const struct nats *nats, const json_t *info, struct findings *findings)
{
    if (strcmp(nats_setting_text(info, "retention"), "limits") == 0)
        return;
    (void)add(nats, findings, FINDING_WARNING,
              "retention is not \"limits\": a restarted server forgets the ids of consumed"
              " messages");
    if (!nats_keeps_nothing(info))
        return;
    finding_fix(add(nats, findings, FINDING_WARNING, NATS_KEEPS_NOTHING),
                "nats consumer add %s before the relay runs", nats->base.options->stream);
}

/* From the stream's first message to its last; 0: too few to tell. */
static double messages_per_s(const json_t *info)
{
    const json_t *state = json_object_get(info, "state");
    int64_t first_ms = nats_time_ms(json_string_value(json_object_get(state, "first_ts")));
    int64_t last_ms = nats_time_ms(json_string_value(json_object_get(state, "last_ts")));
    json_int_t count = json_integer_value(json_object_get(state, "last_seq")) -
                       json_integer_value(json_object_get(state, "first_seq"));

    if (first_ms == INT64_MAX || last_ms - first_ms < RATE_MS_MIN || count < RATE_MESSAGES_MIN)
        return 0;
    return (double)count * 1000 / (double)(last_ms - first_ms);
}

/* An outage that is longer than the window leaves repeats in the stream. Names the longest usual
 * window that costs little memory, or else the next longer one. */
static void advise_window(const struct nats *nats, const json_t *info, int64_t window_ms,
                          struct findings *findings)
{
    static const struct {
        const char *name, *option;
        int64_t ms;
    } windows[] = {{"24 hours", "--dupe-window 24h", 86400000},
                   {"6 hours", "--dupe-window 6h", 21600000},
                   {"1 hour", "--dupe-window 1h", 3600000},
                   {"10 minutes", "--dupe-window 10m", 600000}};
    double bytes_per_ms = messages_per_s(info) * WINDOW_ID_BYTES / 1000;
    size_t at = 0;

    if (window_ms >= windows[0].ms)
        return;
    while (at + 1 < sizeof windows / sizeof *windows && windows[at + 1].ms > window_ms &&
           bytes_per_ms * (double)windows[at].ms > WINDOW_BYTES_CHEAP)
        at++;
    if (bytes_per_ms > 0)
        set_fix(nats,
                add(nats, findings, FINDING_NOTE,
                    "an event that is repeated after more than %lld s is stored twice; at this"
                    " stream's %.1f messages/s a duplicate window of %s costs the server %.0f MB"
                    " of memory",
                    (long long)window_ms / 1000, bytes_per_ms * 1000 / WINDOW_ID_BYTES,
                    windows[at].name, bytes_per_ms * (double)windows[at].ms / 1e6),
                windows[at].option);
    else
        (void)add(nats, findings, FINDING_NOTE,
                  "an event that is repeated after more than %lld s is stored twice; a longer"
                  " duplicate window costs the server %d bytes of memory for each message in it",
                  (long long)window_ms / 1000, WINDOW_ID_BYTES);
}

/* What the stream's configuration may do to messages that it has acknowledged. */
static void report_losses(const struct nats *nats, const json_t *info, struct findings *findings)
{
    int64_t window_ms = nats_duplicate_window_ms(info);
    int64_t wanted_ms = 2 * nats->base.options->publish_timeout_ms;
    char option[64];

    if (strcmp(nats_setting_text(info, "storage"), "memory") == 0) {
        finding_fix(add(nats, findings, FINDING_WARNING,
                        "memory storage: the stream is lost when the server restarts"),
                    "storage cannot be edited: add a stream with --storage file, and move the"
                    " subjects to it");
    }
    if (json_integer_value(nats_setting(info, "num_replicas")) < 2) {
        finding_fix(
            add(nats, findings, FINDING_WARNING,
                "1 replica: a lost disk loses acknowledged messages, and so does a power cut, those"
                " of the server's last sync_interval (2 minutes, if it has not been set)"),
            "with a cluster of three servers: nats stream edit %s --replicas 3; fine for"
            " trying out",
            nats->base.options->stream);
    }
    if (window_ms < wanted_ms) {
        (void)snprintf(option, sizeof option, "--dupe-window %llds",
                       (long long)(wanted_ms + 999) / 1000);
        set_fix(nats,
                add(nats, findings, FINDING_WARNING,
                    "duplicate window of %lld ms: an event repeated after up to %lld ms may"
                    " be stored twice",
                    (long long)window_ms, (long long)wanted_ms),
                option);
    } else {
        advise_window(nats, info, window_ms, findings);
    }
    if (json_is_true(nats_setting(info, "allow_rollup_hdrs")))
        (void)add(nats, findings, FINDING_WARNING,
                  "allow_rollup: a message header can purge the stream");
    report_retention(nats, info, findings);
    warn_of_limits(nats, info, findings);
}

/* NULL: the server does not say. The caller releases the reply. */
static json_t *ask(struct nats *nats, const char *what, const char *request)
{
    struct error ignored;
    json_t *reply = NULL;

    if (nats_call_api(nats, what, request, &reply, &ignored) == 0 &&
        json_object_get(reply, "error") == NULL)
        return reply;
    json_decref(reply);
    return NULL;
}

/* With discard_new_per_subject a subject that has max_msgs_per_subject messages takes no more. */
static void report_full_subject(struct nats *nats, const json_t *info, const char *subject,
                                struct findings *findings)
{
    json_int_t limit = json_integer_value(nats_setting(info, "max_msgs_per_subject"));
    json_t *request, *reply;
    const char *name;
    json_t *count;
    char what[NATS_TEXT_BYTES];
    char *text;

    if (limit <= 0 || !json_is_true(nats_setting(info, "discard_new_per_subject")))
        return;
    (void)snprintf(what, sizeof what, "STREAM.INFO.%s", nats->base.options->stream);
    request = json_pack("{s:s}", "subjects_filter", subject);
    text = json_dumps(request, 0);
    reply = text != NULL ? ask(nats, what, text) : NULL;
    json_object_foreach (json_object_get(json_object_get(reply, "state"), "subjects"), name,
                         count) {
        if (json_integer_value(count) < limit)
            continue;
        set_fix(nats,
                add(nats, findings, FINDING_ERROR,
                    "subject \"%.200s\" is full and refuses messages: it holds %lld of"
                    " max_msgs_per_subject %lld",
                    name, (long long)json_integer_value(count), (long long)limit),
                "--max-msgs-per-subject ...; or let consumers acknowledge");
        break;
    }
    free(text);
    json_decref(request);
    json_decref(reply);
}

static bool fits(const json_t *filter, const char *subject)
{
    const char *pattern = json_string_value(filter);
    struct match match;
    char why[64];
    bool is_fit;

    if (pattern == NULL || match_parse(&match, pattern, why, sizeof why) < 0)
        return true;
    is_fit = match_topic(&match, text_of(subject));
    match_free(&match);
    return is_fit;
}

/* Without a filter a consumer takes all subjects. */
static bool takes(const json_t *consumer, const char *subject)
{
    const json_t *config = json_object_get(consumer, "config");
    const json_t *filter = json_object_get(config, "filter_subject");
    const json_t *filters = json_object_get(config, "filter_subjects");
    bool is_taken = filter != NULL ? fits(filter, subject) : json_array_size(filters) == 0;

    for (size_t i = 0; i < json_array_size(filters); i++)
        is_taken = is_taken || fits(json_array_get(filters, i), subject);
    return is_taken;
}

/* A stream with retention "interest" stores a message only if a consumer takes its subject. The
 * server lists a page of consumers; if there are more, nothing is said. */
static void report_interest(struct nats *nats, const json_t *info, const char *subject,
                            struct findings *findings)
{
    bool is_taken = false;
    json_t *reply, *consumers;
    char what[NATS_TEXT_BYTES];

    if (strcmp(nats_setting_text(info, "retention"), "interest") != 0 || nats_keeps_nothing(info))
        return;
    (void)snprintf(what, sizeof what, "CONSUMER.LIST.%s", nats->base.options->stream);
    reply = ask(nats, what, "");
    consumers = json_object_get(reply, "consumers");
    for (size_t i = 0; i < json_array_size(consumers); i++)
        is_taken = is_taken || takes(json_array_get(consumers, i), subject);
    if (json_is_array(consumers) && !is_taken &&
        json_integer_value(json_object_get(reply, "total")) <=
            (json_int_t)json_array_size(consumers)) {
        finding_fix(
            add(nats, findings, FINDING_WARNING,
                "retention is \"interest\" and no consumer takes \"%.200s\": it acknowledges such"
                " messages and stores none",
                subject),
            "nats consumer add %s --filter '%.200s'", nats->base.options->stream, subject);
    }
    json_decref(reply);
}

/* What one set of limits leaves, of the whole account or of a tier. */
static void report_limits(const struct nats *nats, const json_t *usage, struct findings *findings)
{
    static const char *const kinds[][2] = {{"storage", "max_storage"}, {"memory", "max_memory"}};
    const json_t *limits = json_object_get(usage, "limits");

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double used = json_number_value(json_object_get(usage, kinds[i][0]));
        double limit = json_number_value(json_object_get(limits, kinds[i][1]));

        if (limit <= 0 || used < limit - limit / 10)
            continue;
        finding_fix(findings_add(findings, used >= limit ? FINDING_ERROR : FINDING_WARNING,
                                 "sink %s: the account's streams take %.0f of its %.0f bytes of %s;"
                                 " what does not fit is refused",
                                 nats->base.options->name, used, limit, kinds[i][0]),
                    "raise the account's limits of JetStream, or delete messages");
    }
}

/* An account has limits for all its streams together, or in tiers for each number of replicas. */
static void report_account(struct nats *nats, struct findings *findings)
{
    json_t *account = ask(nats, "INFO", "");
    const char *name;
    json_t *tier;

    report_limits(nats, account, findings);
    json_object_foreach (json_object_get(account, "tiers"), name, tier)
        report_limits(nats, tier, findings);
    json_decref(account);
}

#define LOGIN_WARNING_S (7 * 24 * 3600)

static void report_login(const struct nats *nats, struct findings *findings)
{
    int64_t expires = nats_login_expires(nats->base.options);
    int64_t left_s = expires - (int64_t)time(NULL);

    if (expires == 0 || left_s > LOGIN_WARNING_S)
        return;
    finding_fix(findings_add(findings, FINDING_WARNING,
                             "sink %s: the user JWT in credentials_file expires in %" PRId64
                             " h: from then on the server refuses the login",
                             nats->base.options->name, left_s > 0 ? left_s / 3600 : 0),
                "sign a new one, and write it to the file; the relay reads it at each connection");
}

static void report_order(const struct nats *nats, const json_t *info, struct findings *findings)
{
    const char *key_order = nats_key_order(nats, info);
    struct finding *finding;

    if (key_order == NULL)
        return;
    finding = add(nats, findings, key_order == nats_not_atomic ? FINDING_NOTE : FINDING_OK,
                  "the events of a key are sent %s", key_order);
    if (key_order == nats_not_atomic)
        set_fix(nats, finding, "--allow-batch");
}

void nats_report(struct nats *nats, const json_t *info, const char *destination,
                 struct findings *findings)
{
    if (destination != NULL) {
        report_full_subject(nats, info, destination, findings);
        report_interest(nats, info, destination, findings);
        return;
    }
    report_refusals(nats, info, findings);
    report_losses(nats, info, findings);
    report_order(nats, info, findings);
    report_account(nats, findings);
    report_login(nats, findings);
    /* For information only: a sink that asks for TLS is refused long before (nats_check_tls). */
    if (nats_tls_is_safe())
        return;
    finding_fix(findings_add(findings, FINDING_NOTE,
                             "sink %s: nats.c %s is too old for TLS to NATS",
                             nats->base.options->name, nats_GetVersion()),
                "build with nats.c 3.11 or later, or use the container image");
}
