/*
 * What only the relays know, by question and answer: no table has to be cleaned up after a relay
 * that was killed.
 *
 * The question is a notification on one channel for all; it carries a random token, and the answers
 * come to a channel of that name. Anybody may notify, so an answer counts only from a backend that
 * pg_stat_activity shows as a relay's, under a role that may delete from the outbox, and once.
 */
#include "admin/status/relays.h"

#include "base/clock.h"
#include "base/text.h"
#include "sql/statements.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define COUNT_MAX (INT64_C(1) << 53)
#define RATE_MAX 1e12

/*
 * application_name is "outbox-relay/HOST:PID/LANE"; that of a process's session beside its lanes is
 * ".../watch", or ".../away:SINK,..." (relay/watcher.c), which is all that can be known of a relay
 * that does not answer. These are the columns of relay_sessions.sql.
 */
enum { RELAY, PART, PID, STATE, TRANSACTION };

static struct status_sink *find_sink(struct status *status, const char *name, size_t len)
{
    for (int i = 0; i < status->sink_count; i++)
        if (strlen(status->sinks[i].name) == len && memcmp(status->sinks[i].name, name, len) == 0)
            return &status->sinks[i];
    return NULL;
}

static struct status_lane *find_lane(struct status *status, const char *relay, int number)
{
    struct status_lane *lane;

    for (int i = 0; i < status->lane_count; i++)
        if (status->lane_list[i].number == number && strcmp(status->lane_list[i].relay, relay) == 0)
            return &status->lane_list[i];
    if (status->lane_count == STATUS_LANES_MAX)
        return NULL;
    lane = &status->lane_list[status->lane_count++];
    *lane = (struct status_lane){.number = number, .transaction_s = -1};
    (void)snprintf(lane->relay, sizeof lane->relay, "%s", relay);
    return lane;
}

/* "away:SINK,SINK", which PostgreSQL may have cut. */
static void note_away(struct status *status, const char *part)
{
    for (const char *at = part + strlen("away:"); *at != '\0';) {
        size_t len = strcspn(at, ",");
        struct status_sink *sink = find_sink(status, at, len);

        if (sink != NULL)
            (void)snprintf(sink->state, sizeof sink->state, "away");
        at += len + (at[len] == ',');
    }
}

/* Sessions come sorted by process, so a new name is a new process. */
static void add_session(struct asking *asking, const PGresult *result, int row)
{
    struct status *status = asking->status;
    const char *name = PQgetvalue(result, row, RELAY);
    const char *part = PQgetvalue(result, row, PART);
    struct status_relay *relay;
    struct status_lane *lane;

    if (row == 0 || strcmp(name, PQgetvalue(result, row - 1, RELAY)) != 0) {
        status->relays++;
        if (status->process_count < STATUS_RELAYS_MAX) {
            relay = &status->processes[status->process_count++];
            *relay = (struct status_relay){.per_s = -1};
            (void)snprintf(relay->name, sizeof relay->name, "%s", name);
        }
    }
    relay = status->relays <= STATUS_RELAYS_MAX ? &status->processes[status->relays - 1] : NULL;
    if (part[0] < '0' || part[0] > '9') {
        if (relay != NULL)
            asking->pids[status->relays - 1] = (int)strtol(PQgetvalue(result, row, PID), NULL, 10);
        if (part[0] == 'a')
            note_away(status, part);
        return;
    }
    status->lanes++;
    if (relay != NULL)
        relay->lanes++;
    lane = find_lane(status, name, (int)strtol(part, NULL, 10));
    if (lane == NULL)
        return;
    (void)snprintf(lane->state, sizeof lane->state, "%s", PQgetvalue(result, row, STATE));
    if (!PQgetisnull(result, row, TRANSACTION))
        lane->transaction_s = strtod(PQgetvalue(result, row, TRANSACTION), NULL);
}

/* A number that no relay counts would overflow where it is converted. */
static int64_t read_count(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value < 0 ? 0 : value < COUNT_MAX ? value : COUNT_MAX;
}

static void read_text(char *out, size_t size, const json_t *value)
{
    const char *string = json_string_value(value);
    struct text text = text_cut(text_of(string != NULL ? string : ""), size - 1);

    (void)snprintf(out, size, "%.*s", (int)text.len, text.data);
}

/* One that is away counts more than one that is up; of two that are away, the one for longer. */
static void take_sink(struct status *status, struct status_relay *relay, const json_t *object)
{
    struct status_sink answered = {.since_ms = read_count(object, "since"), .rows = -1};
    struct status_sink *sink;
    bool away, was_away;

    read_text(answered.name, sizeof answered.name, json_object_get(object, "name"));
    read_text(answered.state, sizeof answered.state, json_object_get(object, "state"));
    read_text(answered.error, sizeof answered.error, json_object_get(object, "error"));
    read_text(answered.order, sizeof answered.order, json_object_get(object, "order"));
    sink = find_sink(status, answered.name, strlen(answered.name));
    if (sink == NULL && status->sink_count < STATUS_SINKS_MAX) {
        sink = &status->sinks[status->sink_count++];
        *sink = (struct status_sink){.rows = -1, .state = "unknown"};
        memcpy(sink->name, answered.name, sizeof sink->name);
    }
    if (sink == NULL || strcmp(answered.state, "unknown") == 0)
        return;
    memcpy(sink->order, answered.order, sizeof sink->order);
    away = strcmp(answered.state, "away") == 0;
    sink->relays_up += !away;
    if (away)
        relay->away |= UINT32_C(1) << (sink - status->sinks);
    was_away = strcmp(sink->state, "away") == 0;
    if (!was_away && !away && answered.error[0] != '\0')
        memcpy(sink->error, answered.error, sizeof sink->error);
    if (was_away && (!away || (sink->since_ms > 0 && sink->since_ms <= answered.since_ms)))
        return;
    if (!was_away && !away && strcmp(sink->state, "up") == 0 && sink->since_ms <= answered.since_ms)
        return;
    (void)snprintf(sink->state, sizeof sink->state, "%s", away ? "away" : "up");
    memcpy(sink->error, answered.error, sizeof sink->error);
    sink->since_ms = answered.since_ms;
}

static void take_lane(struct status *status, const char *relay, const json_t *values)
{
    struct status_lane *lane =
        find_lane(status, relay, (int)json_integer_value(json_array_get(values, 0)));
    json_int_t for_ms = json_integer_value(json_array_get(values, 2));
    json_int_t claim_for_ms = json_integer_value(json_array_get(values, 3));

    if (lane == NULL)
        return;
    read_text(lane->state, sizeof lane->state, json_array_get(values, 1));
    lane->state_s = for_ms > 0 ? (double)for_ms / 1000 : 0;
    lane->transaction_s = claim_for_ms >= 0 ? (double)claim_for_ms / 1000 : -1;
}

static void take_trouble(struct status *status, const char *relay, const json_t *object)
{
    struct status_trouble *trouble;

    if (status->trouble_count == STATUS_TROUBLES_MAX)
        return;
    trouble = &status->troubles[status->trouble_count++];
    *trouble = (struct status_trouble){
        .since_ms = read_count(object, "since"),
        .failures = read_count(object, "failures"),
        .of_broker = json_is_true(json_object_get(object, "of_broker")),
    };
    (void)snprintf(trouble->relay, sizeof trouble->relay, "%s", relay);
    read_text(trouble->lanes, sizeof trouble->lanes, json_object_get(object, "lanes"));
    read_text(trouble->error, sizeof trouble->error, json_object_get(object, "error"));
    read_text(trouble->fix, sizeof trouble->fix, json_object_get(object, "fix"));
}

static void take(struct asking *asking, struct status_relay *relay, const json_t *answer)
{
    const json_t *unsent_from = json_object_get(answer, "unsent_from");
    const json_t *lanes = json_object_get(answer, "lanes");
    const json_t *sinks = json_object_get(answer, "sinks");
    const json_t *troubles = json_object_get(answer, "troubles");
    double per_s = json_number_value(json_object_get(answer, "rate"));

    relay->answers = true;
    fingerprint_read(&relay->config, json_object_get(answer, "config"), sinks);
    if (json_is_integer(unsent_from) && json_integer_value(unsent_from) != INT64_MIN &&
        (asking->unsent_from == INT64_MIN || json_integer_value(unsent_from) < asking->unsent_from))
        asking->unsent_from = json_integer_value(unsent_from);
    read_text(relay->version, sizeof relay->version, json_object_get(answer, "version"));
    relay->since_ms = read_count(answer, "since");
    relay->sent = read_count(answer, "sent");
    relay->sent_at_ms = read_count(answer, "sent_at");
    relay->parked = read_count(answer, "parked");
    relay->dead = read_count(answer, "dead");
    relay->per_s = per_s > 0 ? (per_s < RATE_MAX ? per_s : RATE_MAX) : 0;
    for (size_t i = 0; i < json_array_size(sinks); i++)
        take_sink(asking->status, relay, json_array_get(sinks, i));
    for (size_t i = 0; i < json_array_size(troubles); i++)
        take_trouble(asking->status, relay->name, json_array_get(troubles, i));
    for (size_t i = 0; i < json_array_size(lanes); i++)
        take_lane(asking->status, relay->name, json_array_get(lanes, i));
}

bool relays_take(struct asking *asking, int process, const char *json)
{
    json_t *answer = json_loads(json, 0, NULL);
    const json_t *table = json_object_get(answer, "table");
    bool fits = json_is_integer(table);

    /* 0: it has not seen its table yet, as while somebody locks it. */
    asking->of_another_table[process] =
        fits && json_integer_value(table) != 0 &&
        (uint32_t)json_integer_value(table) != asking->admin->table.oid;
    if (fits && !asking->of_another_table[process])
        take(asking, &asking->status->processes[process], answer);
    json_decref(answer);
    return fits;
}

static void on_notification(void *closure, const char *channel, const char *payload, int pid)
{
    struct asking *asking = closure;

    if (strcmp(channel, asking->channel) != 0)
        return;
    for (int i = 0; i < asking->status->process_count; i++)
        if (asking->pids[i] == pid && relays_take(asking, i, payload)) {
            asking->pids[i] = 0;
            asking->left--;
        }
}

/* The names of the channels need no quoting. Nothing that waits for a standby may hold up the
 * question: a transaction that only notifies is a commit all the same. */
static int put_question(struct asking *asking, struct error *error)
{
    static const char ask_sql[] = "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                                  " pg_catalog.pg_notify('" STATUS_CHANNEL "', $1)";
    struct session *session = &asking->admin->session;
    unsigned char bytes[(STATUS_TOKEN_BYTES - 1) / 2];
    char token[STATUS_TOKEN_BYTES];
    const char *params[1] = {token};
    char sql[96];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(error, ERROR_TRANSIENT, ERROR_SELF, "getrandom failed");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    (void)snprintf(asking->channel, sizeof asking->channel, STATUS_ANSWER_CHANNEL "%s", token);
    (void)snprintf(sql, sizeof sql, "LISTEN %s", asking->channel);
    session->notifications.on_arrival = on_notification;
    session->notifications.closure = asking;
    if (session_execute(session, sql, error) == 0 &&
        session_command(session, ask_sql, 1, params, error) == 0)
        return 0;
    asking->channel[0] = '\0';
    return -1;
}

int relays_ask(struct asking *asking, struct admin *admin, struct status *status, int wait_ms,
               struct error *error)
{
    PGresult *result = admin_query(admin, statement_relay_sessions, 0, NULL, error);

    *asking = (struct asking){.admin = admin,
                              .status = status,
                              .unsent_from = INT64_MIN,
                              .deadline_ms = clock_now_ms() + wait_ms};
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        add_session(asking, result, row);
    PQclear(result);
    for (int i = 0; i < status->process_count; i++)
        asking->left += asking->pids[i] != 0;
    if (wait_ms == 0)
        return 0;
    status->has_asked = true;
    if (asking->left == 0)
        return 0;
    status->has_asked = put_question(asking, error) == 0;
    return status->has_asked || admin->session.conn != NULL ? 0 : -1; /* a standby has no LISTEN */
}

/* They relay, but not from this table. */
static void leave_out_others(struct asking *asking)
{
    struct status *status = asking->status;
    int kept = 0;
    int kept_lanes = 0;

    for (int i = 0; i < status->process_count; i++) {
        const struct status_relay *relay = &status->processes[i];

        if (asking->of_another_table[i]) {
            status->relays--;
            status->lanes -= relay->lanes;
            for (int j = 0; j < status->lane_count; j++)
                if (strcmp(status->lane_list[j].relay, relay->name) == 0)
                    status->lane_list[j].relay[0] = '\0';
        } else {
            status->processes[kept++] = *relay;
        }
    }
    status->process_count = kept;
    for (int i = 0; i < status->lane_count; i++)
        if (status->lane_list[i].relay[0] != '\0')
            status->lane_list[kept_lanes++] = status->lane_list[i];
    status->lane_count = kept_lanes;
}

static void add_rates(struct status *status)
{
    for (int i = 0; i < status->process_count; i++)
        if (status->processes[i].per_s >= 0)
            status->per_s = (status->per_s >= 0 ? status->per_s : 0) + status->processes[i].per_s;
}

int relays_hear(struct asking *asking, struct error *error)
{
    struct session *session = &asking->admin->session;
    int status = 0;

    if (asking->channel[0] == '\0')
        return 0;
    session_count_notifications(session);
    while (asking->left > 0 && clock_left_ms(asking->deadline_ms) > 0)
        if (session_wait_for_input(session, asking->deadline_ms, error) < 0)
            return -1;
    session->notifications.on_arrival = NULL;
    status = session_execute(session, "UNLISTEN *", error);
    leave_out_others(asking);
    add_rates(asking->status);
    return status;
}
