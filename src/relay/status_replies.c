#include "relay/status_replies.h"

#include "base/clock.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

#define MARK_MS 5000

static void on_notification(void *closure, const char *channel, const char *payload, int pid)
{
    struct status_replies *replies = closure;

    (void)pid;
    if (replies->count < QUESTIONS_MAX && strcmp(channel, STATUS_CHANNEL) == 0 &&
        relay_answer_token_fits(payload))
        (void)snprintf(replies->tokens[replies->count++], STATUS_TOKEN_BYTES, "%s", payload);
}

int status_replies_listen(struct status_replies *replies, struct session *session,
                          struct error *error)
{
    replies->count = 0;
    session->notifications.on_arrival = on_notification;
    session->notifications.closure = replies;
    return session_execute(session, "LISTEN " STATUS_CHANNEL, error);
}

void status_replies_tick(struct status_replies *replies)
{
    int64_t now_ms = clock_now_ms();

    if (replies->marks[0].at_ms != 0 && now_ms - replies->marks[0].at_ms < MARK_MS)
        return;
    replies->marks[1] = replies->marks[0];
    replies->marks[0].sent = report_total(replies->report, REPORT_SENT);
    replies->marks[0].at_ms = now_ms;
}

static double sent_per_s(const struct status_replies *replies)
{
    const int older = replies->marks[1].at_ms != 0 ? 1 : 0;
    int64_t elapsed_ms = clock_now_ms() - replies->marks[older].at_ms;
    uint64_t sent = report_total(replies->report, REPORT_SENT) - replies->marks[older].sent;

    return elapsed_ms > 0 ? (double)sent * 1000 / (double)elapsed_ms : 0;
}

static int64_t sum(const struct relay_report *report, enum report_count first,
                   enum report_count last)
{
    uint64_t total = 0;

    for (int sink = 0; sink < REPORT_PEERS; sink++)
        for (int i = (int)first; i <= (int)last; i++)
            total += report->counts[sink][i];
    return (int64_t)total;
}

static void fill(struct relay_answer *answer, const struct relay_report *report)
{
    static const char *const states[] = {[PEER_UNKNOWN] = "unknown",
                                         [PEER_UP] = "up",
                                         [PEER_PAUSED] = "unknown",
                                         [PEER_AWAY] = "away"};

    (void)snprintf(answer->version, sizeof answer->version, "%s", RELAY_VERSION);
    answer->since_ms = report->now_ms - report->up_for_ms;
    answer->sent = sum(report, REPORT_SENT, REPORT_SENT);
    answer->parked = sum(report, REPORT_PARKED_RETRY, REPORT_PARKED_BEHIND);
    answer->dead = sum(report, REPORT_DEAD_REJECTED, REPORT_DEAD_ATTEMPTS);
    for (int i = 0; i < report->sink_count && i < ANSWER_SINKS_MAX; i++) {
        const struct peer_report *peer = &report->peers[i];
        struct answer_sink *sink = &answer->sinks[answer->sink_count++];

        (void)snprintf(sink->name, sizeof sink->name, "%s", peer->name);
        (void)snprintf(sink->state, sizeof sink->state, "%s", states[peer->state]);
        sink->since_ms = peer->since_ms;
        if (peer->state == PEER_AWAY)
            (void)snprintf(sink->error, sizeof sink->error, "%.*s", (int)sizeof sink->error - 1,
                           peer->error.text);
        else if (peer->keeps_nothing)
            (void)snprintf(sink->error, sizeof sink->error,
                           "acknowledges messages and stores none: its stream has retention"
                           " \"interest\" and no consumer");
    }
    for (int i = 0; i < report->lane_count && i < ANSWER_LANES_MAX; i++) {
        const struct lane_snapshot *lane = &report->lanes[i];
        struct answer_lane *out = &answer->lanes[answer->lane_count++];

        *out = (struct answer_lane){.number = lane->number,
                                    .for_ms = lane->state_for_ms,
                                    .claim_for_ms = lane->claim_for_ms};
        (void)snprintf(out->state, sizeof out->state, "%s", lane_state_name(lane->state));
    }
}

/* A transaction that only notifies still commits, so synchronous_commit is off: it must not wait
 * for a standby. If the transaction fails, for example because another session's commit holds the
 * queue's lock, the question gets no reply. */
int status_replies_send(struct status_replies *replies, struct session *session, uint32_t table,
                        struct error *error)
{
    struct relay_answer answer = {.table = table};
    struct relay_report report;
    char payload[ANSWER_BYTES];
    char channel[64];
    const char *params[2] = {channel, payload};

    if (replies->count == 0)
        return 0;
    report_read(replies->report, &report);
    fill(&answer, &report);
    answer.per_s = sent_per_s(replies);
    /* `status` may be asked about rows that a condition keeps from this relay. */
    answer.unsent_from = replies->report->options->outbox.where == NULL
                             ? atomic_load(&replies->report->unsent_from)
                             : INT64_MIN;
    (void)relay_answer_write(&answer, payload);
    while (replies->count > 0) {
        (void)snprintf(channel, sizeof channel, STATUS_ANSWER_CHANNEL "%s",
                       replies->tokens[--replies->count]);
        if (session_command(session,
                            "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                            " pg_catalog.pg_notify($1, $2)",
                            2, params, error) < 0 &&
            session->conn == NULL)
            return -1;
    }
    return 0;
}
