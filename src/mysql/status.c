/* The document of `status`, of HTTP and of the metrics: the statements sql/status_*.sql, each of
 * which runs alone, so that one that the server refuses hides no other. */
#include "mysql/document.h"

#include "base/clock.h"
#include "mysql/order.h"
#include "mysql/statements.h"
#include "source/json.h"
#include "source/status.h"

#include <math.h>
#include <string.h>

int admin_status_begin(struct admin *admin, struct error *error)
{
    return db_execute(&admin->session, "SET SESSION TRANSACTION READ ONLY", error) < 0 ? -1 : 0;
}

int admin_gauges_begin(struct admin *admin, struct error *error)
{
    return admin_status_begin(admin, error);
}

/* Claims of the clustered index need no help to pass over what was sent. */
void admin_gauges_unsent_from(struct admin *admin, int64_t id)
{
    (void)admin;
    (void)id;
}

int64_t admin_count_unsent(struct admin *admin, struct error *error)
{
    const struct sql_fact facts[] = {{"count_max", .text = "1000000"}, {.name = NULL}};
    json_t *counted = json_object();
    int64_t unsent = -1;

    if (document_row(admin, counted, db_sql_status_backlog, facts, error) == 0 &&
        document_row(admin, counted, db_sql_status_parked, facts, error) == 0)
        unsent =
            (int64_t)(document_number(counted, "backlog") + document_number(counted, "parked"));
    json_decref(counted);
    return unsent < 1000000 ? unsent : -1;
}

/* NULL: no memory. */
static json_t *begin(const struct admin *admin, const struct status_query *query)
{
    json_t *sinks = json_array();

    for (int i = 0; i < query->sink_count; i++)
        (void)json_array_append_new(sinks, json_pack("{s:s, s:s, s:n, s:n, s:n, s:n}", "name",
                                                     query->sinks[i], "state", "unknown", "since",
                                                     "error", "order", "rows"));
    return json_pack(
        "{s:o, s:o, s:s, s:[], s:i, s:s?, s:o, s:[], s:[], s:[], s:[], s:n, s:{s:n,"
        " s:n, s:n, s:n, s:n, s:n}}",
        "time", pack_time(clock_wall_us() / 1000), "table", pack_text(admin->tables.outbox),
        "keys_locked_by", admin->options->order == ORDER_KEY ? "application" : "", "attention",
        "_unknown", 0, "_self", query->self, "sinks", sinks, "processes", "lane_states", "troubles",
        "pauses", "backlog_estimate", "storage", "dead_tuples", "held_rows", "held_keys",
        "vacuum_held_by", "vacuum_held_seconds", "vacuum_held_transactions");
}

/* What is unknown is null, and said. Returns -1 when the connection is lost. */
static int note(struct admin *admin, json_t *document, const char *figure, int status,
                const struct error *error)
{
    if (status == 0)
        return 0;
    (void)json_object_set_new(
        document, "_unknown",
        json_integer(1 + json_integer_value(json_object_get(document, "_unknown"))));
    document_need(document, "error", error->hint, "unknown: %s: %s", figure, error->text);
    return admin->session.conn != NULL ? 0 : -1;
}

static int add_row(struct admin *admin, json_t *document, json_t *into, const char *figure,
                   const char *statement, const struct sql_fact *facts, struct error *error)
{
    return note(admin, document, figure, document_row(admin, into, statement, facts, error), error);
}

static int add_rows(struct admin *admin, json_t *document, const char *name, const char *figure,
                    const char *statement, const struct sql_fact *facts, struct error *error)
{
    json_t *rows = document_rows(admin, statement, facts, error);

    (void)json_object_set_new(document, name, rows != NULL ? json_incref(rows) : json_array());
    json_decref(rows);
    return note(admin, document, figure, rows != NULL ? 0 : -1, error);
}

static int add_keeper(struct admin *admin, json_t *document, struct error *error)
{
    struct order_trigger trigger;
    int status;

    if (admin->options->order != ORDER_KEY)
        return 0;
    status = order_read(admin, &trigger, error);
    if (status == 0 && trigger.is_there && trigger.problem[0] == '\0')
        (void)json_object_set_new(document, "keys_locked_by", json_string("trigger"));
    return note(admin, document, "who locks the keys", status, error);
}

static int add_figures(struct admin *admin, const struct status_query *query, json_t *document,
                       struct error *error)
{
    char count_max[16];
    const struct sql_fact facts[] = {{"count_max", .text = count_max}, {.name = NULL}};

    (void)snprintf(count_max, sizeof count_max, "%d", query->count_max);
    if (add_row(admin, document, document, "the backlog", db_sql_status_backlog, facts, error) <
            0 ||
        add_row(admin, document, document, "the age of the oldest unsent row", db_sql_status_oldest,
                facts, error) < 0 ||
        add_row(admin, document, document, "the parked rows", db_sql_status_parked, facts, error) <
            0 ||
        add_row(admin, document, document, "the dead rows", db_sql_status_dead, facts, error) < 0 ||
        add_row(admin, document, document, "rows that the server refuses", db_sql_status_refused,
                facts, error) < 0 ||
        add_rows(admin, document, "dead_first", "the first dead rows", db_sql_status_dead_first,
                 facts, error) < 0 ||
        add_rows(admin, document, "parked_reasons", "why rows are parked", db_sql_status_reasons,
                 facts, error) < 0 ||
        add_rows(admin, document, "_waiting", "what rows wait for", db_sql_status_waiting, facts,
                 error) < 0 ||
        add_rows(admin, document, "pauses", "what is paused", db_sql_pause_list, facts, error) <
            0 ||
        add_rows(admin, document, "_losses", "what brokers have lost", db_sql_status_losses, facts,
                 error) < 0)
        return -1;
    return query->has_storage
               ? add_row(admin, document, json_object_get(document, "storage"),
                         "the sizes of the tables", db_sql_status_storage, facts, error)
               : 0;
}

/* What follows from the figures. */
static void conclude(json_t *document, int count_max)
{
    static const char *const counted[] = {"backlog", "parked", "dead"};
    double backlog = document_number(document, "backlog");
    double parked = document_number(document, "parked");
    json_t *losses = json_object();
    size_t at;
    json_t *item;

    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%s_is_lower_bound", counted[i]);
        (void)json_object_set_new(document, name,
                                  json_boolean(document_number(document, counted[i]) >= count_max));
    }
    (void)json_object_set_new(
        document, "oldest_seconds",
        number_or_null(fmax(document_number(document, "backlog_oldest_seconds"),
                            document_number(document, "parked_oldest_seconds"))));
    (void)json_object_set_new(
        document, "unsent",
        backlog < 0 || parked < 0
            ? json_null()
            : json_integer(
                  (json_int_t)(backlog + parked - document_number(document, "scheduled"))));
    json_array_foreach(json_object_get(document, "sinks"), at, item)
    {
        (void)json_object_set_new(losses, document_text(item, "name"), json_integer(0));
    }
    json_array_foreach(json_object_get(document, "_losses"), at, item)
    {
        if (json_object_get(losses, document_text(item, "sink")) != NULL)
            (void)json_object_set(losses, document_text(item, "sink"),
                                  json_object_get(item, "rows"));
    }
    (void)json_object_set_new(document, "_sink_losses", losses);
}

/* How many unsent rows of the outbox go to each sink, by their topics. */
static int count_sinks(struct admin *admin, const struct status_query *query, json_t *document,
                       struct error *error)
{
    char count_max[16];
    const struct sql_fact facts[] = {{"count_max", .text = count_max}, {.name = NULL}};
    json_int_t rows[STATUS_SINKS_MAX] = {0};
    json_t *topics;
    size_t at;
    json_t *topic;

    (void)snprintf(count_max, sizeof count_max, "%d", query->count_max);
    topics = document_rows(admin, db_sql_status_topics, facts, error);
    if (topics == NULL)
        return note(admin, document, "the rows of each sink", -1, error);
    json_array_foreach(topics, at, topic)
    {
        int sink = route_sink(query->routes, text_of(document_text(topic, "topic")));

        if (sink >= 0)
            rows[sink] += json_integer_value(json_object_get(topic, "rows"));
    }
    json_decref(topics);
    for (int i = 0; i < query->sink_count; i++)
        (void)json_object_set_new(json_array_get(json_object_get(document, "sinks"), (size_t)i),
                                  "rows", json_integer(rows[i]));
    return 0;
}

/* Reasons stand before the figures that could not be read. */
static void add_needs(struct admin *admin, json_t *document)
{
    json_t *unknown = json_incref(json_object_get(document, "attention"));
    struct error problem;

    (void)json_object_set_new(document, "attention", json_array());
    if (admin_check_slices(admin, &problem) < 0)
        document_need(document, "error", problem.hint, "events of some slices are not sent: %s",
                      problem.text);
    document_attention(document);
    (void)json_array_extend(json_object_get(document, "attention"), unknown);
    json_decref(unknown);
}

json_t *admin_status(struct admin *admin, const struct status_query *query, struct error *error)
{
    json_t *document;

    if (!admin->tables.exists) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table %s does not exist",
                        admin->tables.outbox);
        (void)error_hint(error, "%s init", source_program);
        return NULL;
    }
    document = begin(admin, query);
    if (document == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    if (document_relays(admin, document, error) < 0 || add_keeper(admin, document, error) < 0 ||
        add_figures(admin, query, document, error) < 0 ||
        count_sinks(admin, query, document, error) < 0) {
        json_decref(document);
        return NULL;
    }
    conclude(document, query->count_max);
    add_needs(admin, document);
    return document;
}
