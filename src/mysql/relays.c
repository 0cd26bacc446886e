/* What relays say of themselves (source/answer.h), which each writes into the control table every
 * few seconds, and which is over when it has not for SILENT_S. */
#include "mysql/document.h"

#include "mysql/statements.h"
#include "source/json.h"
#include "source/status.h"

#include <stdlib.h>
#include <string.h>

#define SILENT_S "15"

static double number_in(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void add_process(json_t *document, const char *name, const json_t *answer)
{
    char config[FINGERPRINT_HASH_BYTES];
    char *packed = json_dumps(json_object_get(answer, "config"), JSON_COMPACT);

    fingerprint_hash(packed != NULL ? packed : "", config);
    free(packed);
    (void)json_array_append_new(
        json_object_get(document, "processes"),
        json_pack("{s:o, s:i, s:b, s:O?, s:s, s:o, s:o, s:O?, s:O?, s:O?, s:f}", "name",
                  pack_text(name), "lanes", (int)json_array_size(json_object_get(answer, "lanes")),
                  "answers", 1, "version", json_object_get(answer, "version"), "config", config,
                  "since", pack_time((int64_t)number_in(answer, "since")), "last_sent",
                  pack_time((int64_t)number_in(answer, "sent_at")), "sent",
                  json_object_get(answer, "sent"), "parked", json_object_get(answer, "parked"),
                  "dead", json_object_get(answer, "dead"), "rate_per_second",
                  number_in(answer, "rate")));
}

static void add_lanes(json_t *document, const char *name, const json_t *answer)
{
    const json_t *lanes = json_object_get(answer, "lanes");
    size_t at;
    json_t *lane;

    json_array_foreach(lanes, at, lane)
    {
        double open_ms = json_number_value(json_array_get(lane, 3));

        (void)json_array_append_new(
            json_object_get(document, "lane_states"),
            json_pack("{s:o, s:O, s:O, s:f, s:o}", "relay", pack_text(name), "lane",
                      json_array_get(lane, 0), "state", json_array_get(lane, 1), "state_seconds",
                      json_number_value(json_array_get(lane, 2)) / 1000, "transaction_seconds",
                      number_or_null(open_ms / 1000)));
    }
}

static void add_troubles(json_t *document, const char *name, const json_t *answer)
{
    size_t at;
    json_t *trouble;

    json_array_foreach(json_object_get(answer, "troubles"), at, trouble)
    {
        json_t *copy = json_copy(trouble);

        (void)json_object_set_new(copy, "relay", pack_text(name));
        (void)json_object_set_new(copy, "since", pack_time((int64_t)number_in(trouble, "since")));
        (void)json_object_set_new(copy, "_since_ms",
                                  json_integer((json_int_t)number_in(trouble, "since")));
        (void)json_array_append_new(json_object_get(document, "troubles"), copy);
    }
}

static json_t *find_sink(const json_t *document, const char *name)
{
    size_t at;
    json_t *sink;

    json_array_foreach(json_object_get(document, "sinks"), at, sink)
    {
        if (strcmp(document_text(sink, "name"), name) == 0)
            return sink;
    }
    return NULL;
}

/* Of several relays one that cannot publish counts most. */
static void take_sinks(json_t *document, const json_t *answer)
{
    size_t at;
    json_t *said;

    json_array_foreach(json_object_get(answer, "sinks"), at, said)
    {
        json_t *sink = find_sink(document, document_text(said, "name"));
        const char *state = document_text(said, "state");
        const char *up = strcmp(state, "up") == 0 ? "_up" : "_away";

        if (sink == NULL || strcmp(state, "unknown") == 0)
            continue;
        (void)json_object_set_new(sink, up, json_integer(1 + (json_int_t)number_in(sink, up)));
        if (strcmp(document_text(sink, "state"), "away") == 0)
            continue;
        (void)json_object_set(sink, "state", json_object_get(said, "state"));
        (void)json_object_set_new(sink, "since", pack_time((int64_t)number_in(said, "since")));
        (void)json_object_set_new(sink, "error", text_or_null(document_text(said, "error")));
        (void)json_object_set(sink, "order", json_object_get(said, "order"));
    }
}

static void add_relay(json_t *document, const char *name, const json_t *answer)
{
    add_process(document, name, answer);
    add_lanes(document, name, answer);
    add_troubles(document, name, answer);
    take_sinks(document, answer);
}

int document_relays(struct admin *admin, json_t *document, struct error *error)
{
    const struct sql_fact facts[] = {{"silent_s", .text = SILENT_S}, {.name = NULL}};
    json_t *said = document_rows(admin, db_sql_status_relays, facts, error);
    double rate = 0;
    int lanes = 0;
    size_t at;
    json_t *relay;

    if (said == NULL)
        return -1;
    json_array_foreach(said, at, relay)
    {
        json_t *answer = json_loads(document_text(relay, "answer"), 0, NULL);

        add_relay(document, document_text(relay, "name"), answer);
        lanes += (int)json_array_size(json_object_get(answer, "lanes"));
        rate += number_in(answer, "rate");
        json_decref(answer);
    }
    (void)json_object_set_new(document, "relays", json_integer((json_int_t)json_array_size(said)));
    (void)json_object_set_new(document, "lanes", json_integer(lanes));
    (void)json_object_set_new(document, "rate_per_second",
                              json_array_size(said) > 0 ? json_real(rate) : json_null());
    json_decref(said);
    return 0;
}

/* ---- check ---- */

static const char *difference(const json_t *config, const json_t *other)
{
    if (!json_equal(json_object_get(config, "routes"), json_object_get(other, "routes")))
        return "routes";
    if (!json_equal(json_object_get(config, "outbox"), json_object_get(other, "outbox")))
        return "columns or on_sent of [outbox]";
    return json_equal(config, other) ? NULL : "sinks";
}

/* Relays have written what they are: nobody waits for an answer. */
int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error)
{
    const struct sql_fact facts[] = {{"silent_s", .text = SILENT_S}, {.name = NULL}};
    json_t *said = document_rows(admin, db_sql_status_relays, facts, error);
    json_t *config = fingerprint_pack(own);
    size_t at;
    json_t *relay;

    (void)wait_ms;
    json_array_foreach(said, at, relay)
    {
        json_t *answer = json_loads(document_text(relay, "answer"), 0, NULL);
        const char *what = difference(config, json_object_get(answer, "config"));

        if (what == NULL)
            (void)findings_add(findings, FINDING_OK, "relay %s: the same configuration",
                               document_text(relay, "name"));
        else
            finding_fix(findings_add(findings, FINDING_WARNING, "%s differs from relay %s in: %s",
                                     name, document_text(relay, "name"), what),
                        "give all relays of this table the same configuration");
        json_decref(answer);
    }
    at = said != NULL;
    json_decref(config);
    json_decref(said);
    return at ? 0 : -1;
}
