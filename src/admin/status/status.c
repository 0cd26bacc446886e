#include "admin/status/status.h"

#include "admin/status/document.h"
#include "admin/status/relays.h"
#include "base/clock.h"
#include "catalog/describe.h"
#include "source/json.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int admin_status_begin(struct admin *admin, struct error *error)
{
    return session_execute(
        &admin->session,
        "SET default_transaction_read_only = on; SET max_parallel_workers_per_gather = 0", error);
}

int admin_gauges_begin(struct admin *admin, struct error *error)
{
    if (admin_status_begin(admin, error) < 0)
        return -1;
    return session_execute(&admin->session, "SET statement_timeout = '4s'; SET lock_timeout = '1s'",
                           error);
}

void admin_gauges_unsent_from(struct admin *admin, int64_t id)
{
    admin->unsent_from = table_has_integer_ids(&admin->table) ? id : INT64_MIN;
}

/* What the sections are told; of the last look what they compare with. NULL: no memory. */
static json_t *begin(const struct admin *admin, const struct status_query *query)
{
    char table[sizeof admin->table.schema + sizeof admin->table.name + 1];
    json_t *sinks = json_array();

    for (int i = 0; i < query->sink_count; i++)
        (void)json_array_append_new(sinks, json_string(query->sinks[i]));
    (void)snprintf(table, sizeof table, "%s.%s", admin->table.schema, admin->table.name);
    return json_pack("{s:o, s:o, s:n, s:[], s:i, s:i, s:s?, s:o, s:{s:o?, s:o?}}", "time",
                     pack_time(clock_wall_us() / 1000), "table", pack_text(table), "keys_locked_by",
                     "attention", "_unknown", 0, "_count_max", query->count_max, "_self",
                     query->self, "_sinks", sinks, "_before", "_settled",
                     json_deep_copy(json_object_get(query->before, "_settled")), "storage",
                     json_deep_copy(json_object_get(query->before, "storage")));
}

/* How many unsent rows of the outbox go to each sink, by their topics. */
static int count_sinks(struct admin *admin, const struct status_query *query, json_t *document,
                       struct error *error)
{
    int64_t backlog = json_integer_value(json_object_get(document, "backlog"));
    int64_t rows[STATUS_SINKS_MAX] = {0};
    PGresult *result = NULL;

    if (json_is_null(json_object_get(document, "backlog")))
        return 0;
    if (query->sink_count == 1)
        rows[0] = backlog;
    else if (backlog > 0) {
        result = document_ask(admin, document, statement_backlog_topics, "", error);
        if (result == NULL)
            return document_note_unknown(admin, document, "the rows of each sink", error);
    }
    for (int row = 0; row < PQntuples(result); row++) {
        struct text topic = {PQgetvalue(result, row, 0), (size_t)PQgetlength(result, row, 0)};
        int sink = route_sink(query->routes, topic);

        if (sink >= 0)
            rows[sink] += strtoll(PQgetvalue(result, row, 1), NULL, 10);
    }
    PQclear(result);
    for (int i = 0; i < query->sink_count; i++)
        (void)json_object_set_new(json_array_get(json_object_get(document, "sinks"), (size_t)i),
                                  "rows", json_integer(rows[i]));
    return 0;
}

/* Reasons stand before what follows from them: whoever has locked the tables, what keeps the relays
 * from sending, and at last the figures that could not be read. */
static int add_needs(struct admin *admin, const struct status_query *query, json_t *document,
                     struct error *error)
{
    json_t *unknown = json_incref(json_object_get(document, "attention"));
    int result = 0;
    struct error problem;
    char text[sizeof problem.text + 64];

    (void)json_object_set_new(document, "attention", json_array());
    if (admin_check_slices(admin, &problem) < 0) {
        (void)snprintf(text, sizeof text, "events of some slices are not sent: %s", problem.text);
        document_need(document, "error", text, problem.hint);
    }
    if (document_run_all(admin, document, document, "attention", error) < 0 ||
        (query->wait_ms > 0 && document_run_all(admin, document, document, "answers", error) < 0) ||
        document_run_all(admin, document, document, "health", error) < 0)
        result = -1;
    (void)json_array_extend(json_object_get(document, "attention"), unknown);
    json_decref(unknown);
    return result;
}

static int fill(struct admin *admin, const struct status_query *query, json_t *document,
                struct error *error)
{
    if (relays_read(admin, document, query->wait_ms, error) < 0)
        return -1;
    if (admin->unsent_from == INT64_MIN && table_has_integer_ids(&admin->table) &&
        json_is_integer(json_object_get(document, "_unsent_from")))
        admin->unsent_from = json_integer_value(json_object_get(document, "_unsent_from"));
    if (document_run_all(admin, document, document, "figures", error) < 0 ||
        count_sinks(admin, query, document, error) < 0 ||
        add_needs(admin, query, document, error) < 0)
        return -1;
    if (!query->has_storage)
        return 0;
    (void)json_object_set_new(document, "storage", json_object());
    return document_run_all(admin, document, json_object_get(document, "storage"), "storage",
                            error);
}

json_t *admin_status(struct admin *admin, const struct status_query *query, struct error *error)
{
    int64_t unsent_from = admin->unsent_from;
    json_t *document;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return NULL;
    document = begin(admin, query);
    if (document == NULL) {
        (void)error_no_memory(error);
    } else if (fill(admin, query, document, error) < 0) {
        json_decref(document);
        document = NULL;
    }
    admin->unsent_from = unsent_from;
    return document;
}

int admin_status_text(struct admin *admin, const json_t *document, const struct status_lines *lines,
                      struct error *error)
{
    PGresult *result = document_ask(admin, document, statement_status_text, "", error);

    for (int row = 0; result != NULL && row < PQntuples(result); row++)
        lines->on_line(lines->closure, PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    PQclear(result);
    return result != NULL ? 0 : -1;
}

int admin_status_limits(struct admin *admin, const json_t *document,
                        const struct status_lines *lines, struct error *error)
{
    PGresult *result = document_ask(admin, document, statement_status_limits, "", error);

    for (int row = 0; result != NULL && row < PQntuples(result); row++)
        lines->on_line(lines->closure, "", PQgetvalue(result, row, 0));
    PQclear(result);
    return result != NULL ? 0 : -1;
}

static void take_findings(const json_t *document, struct findings *findings)
{
    const json_t *attention = json_object_get(document, "attention");

    for (size_t i = 0; i < json_array_size(attention); i++) {
        const json_t *item = json_array_get(attention, i);
        const char *level = json_string_value(json_object_get(item, "level"));
        const char *fix = json_string_value(json_object_get(item, "fix"));

        finding_fix(findings_add(findings, strcmp(level, "ok") == 0 ? FINDING_OK : FINDING_WARNING,
                                 "%s", json_string_value(json_object_get(item, "text"))),
                    "%s", fix != NULL ? fix : "");
    }
}

int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error)
{
    json_t *document =
        json_pack("{s:[], s:i, s:[], s:{s:o, s:o}}", "attention", "_unknown", 0, "_sinks", "_own",
                  "name", pack_text(name), "config", fingerprint_by_name(own));
    int result = -1;

    if (document == NULL)
        (void)error_no_memory(error);
    else if (relays_read(admin, document, wait_ms, error) == 0 &&
             document_run(admin, document, document, statement_relays_differ, "", error) == 0)
        result = 0;
    if (result == 0)
        take_findings(document, findings);
    json_decref(document);
    return result;
}
