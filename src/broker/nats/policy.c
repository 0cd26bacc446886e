/*
 * What a stream's settings and state do with messages: what `check` says of it.
 */

#include "broker/nats/nats.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX 640

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
    (void)snprintf(finding->fix, sizeof finding->fix, "nats stream edit %s %s",
                   nats->base.options->stream, option);
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
    struct finding *finding;

    if (json_is_object(mirror)) {
        finding = add(nats, findings, FINDING_ERROR,
                      "it is a mirror: only the stream that it copies takes messages");
        (void)snprintf(finding->fix, sizeof finding->fix, "stream = \"%s\" in [sink.%s]",
                       origin != NULL ? origin : "...", nats->base.options->name);
    }
    if (json_is_true(nats_setting(info, "sealed"))) {
        finding = add(nats, findings, FINDING_ERROR, "it is sealed and takes no messages any more");
        (void)snprintf(finding->fix, sizeof finding->fix,
                       "sealing cannot be undone: add another stream, and move the subjects to it");
    }
    report_full(nats, info, findings);
}

static void report_retention(const struct nats *nats, const json_t *info, struct findings *findings)
{
    const char *retention = nats_setting_text(info, "retention");
    json_int_t consumers =
        json_integer_value(json_object_get(json_object_get(info, "state"), "consumer_count"));
    struct finding *finding;

    if (strcmp(retention, "limits") == 0)
        return;
    (void)add(nats, findings, FINDING_WARNING,
              "retention is not \"limits\": a restarted server forgets the ids of consumed"
              " messages");
    if (strcmp(retention, "interest") != 0 || consumers > 0)
        return;
    finding = add(nats, findings, FINDING_WARNING,
                  "retention is \"interest\" and there is no consumer: it acknowledges messages and"
                  " stores none");
    (void)snprintf(finding->fix, sizeof finding->fix, "nats consumer add %s before the relay runs",
                   nats->base.options->stream);
}

/* What the stream's configuration may do to messages that it has acknowledged. */
static void report_losses(const struct nats *nats, const json_t *info, struct findings *findings)
{
    int64_t window_ms = nats_duplicate_window_ms(info);
    int64_t wanted_ms = 2 * nats->base.options->publish_timeout_ms;
    struct finding *finding;
    char option[64];

    if (strcmp(nats_setting_text(info, "storage"), "memory") == 0) {
        finding = add(nats, findings, FINDING_WARNING,
                      "memory storage: the stream is lost when the server restarts");
        (void)snprintf(finding->fix, sizeof finding->fix,
                       "storage cannot be edited: add a stream with --storage file, and move the"
                       " subjects to it");
    }
    if (json_integer_value(nats_setting(info, "num_replicas")) < 2) {
        finding = add(nats, findings, FINDING_WARNING, "1 replica: losing one disk loses messages");
        (void)snprintf(finding->fix, sizeof finding->fix,
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
    }
    if (json_is_true(nats_setting(info, "allow_rollup_hdrs")))
        (void)add(nats, findings, FINDING_WARNING,
                  "allow_rollup: a message header can purge the stream");
    report_retention(nats, info, findings);
    warn_of_limits(nats, info, findings);
}

void nats_report_policy(const struct nats *nats, const json_t *info, struct findings *findings)
{
    report_refusals(nats, info, findings);
    report_losses(nats, info, findings);
}
