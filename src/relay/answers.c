#include "relay/answers.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define MARK_MS 5000

static void on_notification(void *closure, const char *channel, const char *payload, int pid)
{
    struct answers *answers = closure;

    (void)pid;
    if (answers->count < QUESTIONS_MAX && strcmp(channel, STATUS_CHANNEL) == 0 &&
        relay_answer_token_fits(payload))
        (void)snprintf(answers->tokens[answers->count++], STATUS_TOKEN_BYTES, "%s", payload);
}

int answers_listen(struct answers *answers, struct session *session, struct error *error)
{
    answers->count = 0;
    session->notifications.on_arrival = on_notification;
    session->notifications.closure = answers;
    return session_execute(session, "LISTEN " STATUS_CHANNEL, error);
}

void answers_tick(struct answers *answers)
{
    int64_t now_ms = clock_now_ms();

    if (answers->marks[0].at_ms != 0 && now_ms - answers->marks[0].at_ms < MARK_MS)
        return;
    answers->marks[1] = answers->marks[0];
    answers->marks[0].sent = report_total(answers->report, REPORT_SENT);
    answers->marks[0].at_ms = now_ms;
}

static double sent_per_s(const struct answers *answers)
{
    const int older = answers->marks[1].at_ms != 0 ? 1 : 0;
    int64_t elapsed_ms = clock_now_ms() - answers->marks[older].at_ms;
    uint64_t sent = report_total(answers->report, REPORT_SENT) - answers->marks[older].sent;

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
    static const char *const states[] = {
        [PEER_UNKNOWN] = "unknown", [PEER_UP] = "up", [PEER_AWAY] = "away"};

    (void)snprintf(answer->version, sizeof answer->version, "%s", RELAY_VERSION);
    answer->since_ms = report->now_ms - report->up_for_ms;
    answer->sent = sum(report, REPORT_SENT, REPORT_SENT);
    answer->parked = sum(report, REPORT_PARKED_REFUSED, REPORT_PARKED_BEHIND);
    answer->dead = sum(report, REPORT_DEAD_REJECTED, REPORT_DEAD_ATTEMPTS);
    for (int i = 0; i < report->sink_count && i < ANSWER_SINKS_MAX; i++) {
        const struct peer_report *peer = &report->sinks[i].peer;
        struct answer_sink *sink = &answer->sinks[answer->sink_count++];

        (void)snprintf(sink->name, sizeof sink->name, "%s", peer->name);
        (void)snprintf(sink->state, sizeof sink->state, "%s", states[peer->state]);
        sink->since_ms = peer->since_ms;
        if (peer->state == PEER_AWAY)
            (void)snprintf(sink->error, sizeof sink->error, "%.*s", (int)sizeof sink->error - 1,
                           peer->error.text);
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

/* A transaction that only notifies is a commit all the same: it waits for no standby. One that
 * fails, as when another's commit holds the queue, leaves a question without its answer. */
int answers_send(struct answers *answers, struct session *session, uint32_t table,
                 struct error *error)
{
    struct relay_answer answer = {.table = table};
    struct relay_report report;
    char payload[ANSWER_BYTES];
    char channel[64];
    const char *params[2] = {channel, payload};

    if (answers->count == 0)
        return 0;
    report_read(answers->report, &report);
    fill(&answer, &report);
    answer.per_s = sent_per_s(answers);
    (void)relay_answer_write(&answer, payload);
    while (answers->count > 0) {
        (void)snprintf(channel, sizeof channel, STATUS_ANSWER_CHANNEL "%s",
                       answers->tokens[--answers->count]);
        if (session_command(session,
                            "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                            " pg_catalog.pg_notify($1, $2)",
                            2, params, NULL, NULL, error) < 0 &&
            session->conn == NULL)
            return -1;
    }
    return 0;
}
