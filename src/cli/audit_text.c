/* How the findings of `audit` are shown. */
#include "cli/audit.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 2048

/* The names for programs, and for people. */
static const struct {
    const char *name;
    const char *text;
} kinds[AUDIT_KINDS] = {
    [AUDIT_MISSING] = {"missing", "missing at the broker"},
    [AUDIT_UNKNOWN] = {"unknown", "at the broker, but no event of the table"},
    [AUDIT_LATE] = {"late", "after a later event of their key"},
    [AUDIT_AGAIN] = {"again", "at the broker once more"},
    [AUDIT_ALTERED] = {"altered", "with another key, payload, headers or destination"},
    [AUDIT_FOUND] = {"found", "found"},
    [AUDIT_REPLAYED] = {"replayed", "sent again by replay"},
    [AUDIT_LATE_REPLAYED] = {"late_replayed", "late in their key, because replay sent them"},
    [AUDIT_LATE_PARKED] = {"late_parked", "late in their key, after they were parked"},
    [AUDIT_ELSEWHERE] = {"elsewhere", "found at another sink than the routes choose now"},
    [AUDIT_NOT_COMPARED] = {"not_compared", "found, but their content could not be compared"},
    [AUDIT_NOT_READ] = {"not_read", "sent to a broker that could not be read"},
    [AUDIT_OLD_ROW] = {"too_old_rows",
                       "sent, but the broker may have dropped them: too old to tell"},
    [AUDIT_OLD_HELD] = {"too_old_messages",
                        "at the broker, but older than the table's rows: too old to tell"},
    [AUDIT_NEWER] = {"other_rows", "of other rows: newer, not yet settled, or not asked for"},
    [AUDIT_UNTOLD] = {"untold", "at the broker, but the table cannot say whether it sent them"},
};

static const char *name_of_sink(const struct auditing *auditing, int sink)
{
    return auditing->config->relay.sinks[sink].name;
}

static const char *topic_of(const struct auditing *auditing, const struct audit_finding *finding)
{
    const struct audited_sink *sink = &auditing->sinks[finding->sink];

    return finding->topic < sink->topic_count ? sink->topics[finding->topic] : NULL;
}

static const char *stream_of(const struct auditing *auditing, int sink)
{
    return auditing->config->relay.sinks[sink].stream;
}

/* ---- for programs ---- */

static void print_json(json_t *object)
{
    char *line = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    if (line != NULL)
        terminal_print_json(text_of(line));
    free(line);
}

/* NULL: there is none. */
static json_t *as_json(struct text text)
{
    char safe[LINE_BYTES];
    json_t *value = NULL;

    if (text.data != NULL && (value = json_stringn(text.data, text.len)) == NULL)
        value = json_string(text_escape(safe, sizeof safe, text.data, text.len));
    return value;
}

static bool is_numbered(const struct auditing *auditing)
{
    return auditing->config->relay.outbox.columns[COLUMN_ORDER] != NULL;
}

static void show_json(const struct auditing *auditing, const struct audit_finding *finding)
{
    const char *topic = topic_of(auditing, finding);
    bool has_row = finding->id.data != NULL;
    bool has_message = finding->position >= 0;
    char sent[40];
    char stored[40];

    print_json(json_pack(
        "{s:s, s:s, s:o*, s:o*, s:s*, s:o*, s:s*, s:o*, s:o*, s:s*, s:o*}", /* *: left out if NULL
                                                                             */
        "finding", kinds[finding->kind].name, "sink", name_of_sink(auditing, finding->sink), "id",
        as_json(has_row && is_numbered(auditing) ? finding->event_id : finding->id), "event_id",
        as_json(finding->event_id), "sent_at",
        has_row ? clock_utc(sent, finding->sent_ms, false) : NULL, "topic",
        topic != NULL ? as_json(text_of(topic)) : NULL, "stream",
        topic == NULL ? stream_of(auditing, finding->sink) : NULL, "partition",
        topic != NULL && finding->partition >= 0 ? json_integer(finding->partition) : NULL,
        topic != NULL ? "offset" : "sequence", has_message ? json_integer(finding->position) : NULL,
        "at", has_message ? clock_utc(stored, finding->time_ms, false) : NULL, "after",
        finding->kind == AUDIT_LATE ? json_integer(finding->after) : NULL));
}

/* What can be told of a sink, and what not. */
static json_t *sink_as_json(const struct auditing *auditing, int number)
{
    const struct audited_sink *sink = &auditing->sinks[number];
    const char *error = sink->is_read              ? NULL
                        : sink->is_audited         ? sink->error.text
                        : sink->unreadable != NULL ? sink->unreadable
                                                   : "not audited";

    return json_pack("{s:s, s:b, s:o*}", "name", name_of_sink(auditing, number), "read",
                     sink->is_read, "error", error != NULL ? as_json(text_of(error)) : NULL);
}

static void summarise_json(const struct auditing *auditing)
{
    json_t *counts =
        json_pack("{s:I, s:I}", "rows", auditing->rows, "messages", auditing->messages);
    json_t *sinks = json_array();

    for (int kind = 0; kind < AUDIT_KINDS; kind++)
        (void)json_object_set_new(
            counts, kinds[kind].name,
            json_integer(audit_count(auditing->audit, (enum audit_kind)kind)));
    (void)json_object_set_new(counts, "without_id", json_integer(auditing->foreign));
    (void)json_object_set_new(counts, "without_route", json_integer(auditing->no_sink));
    (void)json_object_set_new(counts, "unreadable", json_integer(auditing->sent.unreadable));
    for (int i = 0; i < auditing->config->relay.sink_count; i++)
        (void)json_array_append_new(sinks, sink_as_json(auditing, i));
    (void)json_object_set_new(counts, "sinks", sinks);
    print_json(json_pack("{s:o}", "summary", counts));
}

/* ---- for people ---- */

static char *line_of(const struct auditing *auditing, const struct audit_finding *finding)
{
    const char *topic = topic_of(auditing, finding);
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    char safe[512];

    if (out == NULL)
        return NULL;
    if (finding->id.data != NULL && !is_numbered(auditing))
        (void)fprintf(out, "row %s, ", text_show(safe, sizeof safe, finding->id, false));
    (void)fprintf(out, "event %s", text_show(safe, sizeof safe, finding->event_id, false));
    if (finding->kind == AUDIT_MISSING)
        (void)fprintf(out, ", sent %s", clock_utc(safe, finding->sent_ms, false));
    if (topic != NULL)
        (void)fprintf(out, ", topic %s", text_show(safe, sizeof safe, text_of(topic), false));
    else
        (void)fprintf(out, ", stream %s", stream_of(auditing, finding->sink));
    if (topic != NULL && finding->partition >= 0)
        (void)fprintf(out, " partition %d", finding->partition);
    if (finding->position >= 0)
        (void)fprintf(out, " %s %" PRId64, topic != NULL ? "offset" : "sequence",
                      finding->position);
    if (finding->kind == AUDIT_LATE)
        (void)fprintf(out, ", after %" PRId64, finding->after);
    (void)fclose(out);
    return line;
}

void audit_show_finding(void *closure, const struct audit_finding *finding)
{
    struct auditing *auditing = closure;
    int64_t at = audit_count(auditing->audit, finding->kind) - 1;

    if (auditing->arguments->json)
        show_json(auditing, finding);
    else if (at < AUDIT_SHOWN)
        auditing->shown[finding->kind][at] = line_of(auditing, finding);
    if (finding->kind == AUDIT_MISSING && !auditing->arguments->json && at < AUDIT_SHOWN)
        auditing->shown_ids[at] = strndup(finding->id.data, finding->id.len);
}

/* The records of an audit have only hashes of keys; the table has the keys. */
static void add_names(void *closure, const struct explained *row, struct batch *batch)
{
    struct auditing *auditing = closure;
    const struct message *message = &batch->messages[0];
    char event[512];
    char topic[512];
    char key[512];

    (void)row;
    text_show(event, sizeof event, message->event_id, false);
    text_show(topic, sizeof topic, message->topic, false);
    text_show(key, sizeof key, message->key, false);
    for (int i = 0; i < AUDIT_SHOWN && auditing->shown_ids[i] != NULL; i++) {
        char **line = &auditing->shown[AUDIT_MISSING][i];
        char *named;

        if (!text_equal(message->id, text_of(auditing->shown_ids[i])) || *line == NULL ||
            strstr(*line, event) == NULL)
            continue;
        if (asprintf(&named, "%s%s%s%s%s", *line, strstr(*line, ", topic ") ? "" : ", topic ",
                     strstr(*line, ", topic ") ? "" : topic,
                     message->key.data != NULL ? ", key " : "",
                     message->key.data != NULL ? key : "") < 0)
            continue;
        free(*line);
        *line = named;
    }
}

/* Without the names when they cannot be read. */
static void name_missing(struct auditing *auditing)
{
    const struct relay_options *options = &auditing->config->relay;
    struct explain_request request = {.ids = (const char *const *)auditing->shown_ids};
    const struct explain_reader reader = {.on_row = add_names, .closure = auditing};
    struct error ignored;
    struct admin *admin;

    while (request.id_count < AUDIT_SHOWN && auditing->shown_ids[request.id_count] != NULL)
        request.id_count++;
    admin = request.id_count > 0 ? admin_open(&options->outbox, &ignored) : NULL;
    if (admin != NULL)
        (void)admin_explain(admin, &options->routes, &request, &reader, &ignored);
    admin_close(admin);
}

static void print_count(int64_t count, const char *text)
{
    (void)printf("%12" PRId64 "  %s\n", count, text);
}

static void print_kind(const struct auditing *auditing, enum audit_kind kind)
{
    int64_t count = audit_count(auditing->audit, kind);

    if (count == 0 && kind >= AUDIT_FINDINGS)
        return;
    print_count(count, kinds[kind].text);
    if (kind >= AUDIT_FINDINGS)
        return;
    for (int i = 0; i < AUDIT_SHOWN && auditing->shown[kind][i] != NULL; i++)
        (void)printf("              %s\n", auditing->shown[kind][i]);
    if (count > AUDIT_SHOWN)
        (void)printf("              and %" PRId64 " more: --json lists all\n", count - AUDIT_SHOWN);
}

/* What the broker may do to messages of a place, once a text. */
static void print_places(const struct auditing *auditing, int number)
{
    const struct audited_sink *sink = &auditing->sinks[number];

    for (int i = 0; i < sink->place_count; i++) {
        const struct held_place *place = &sink->places[i];
        const char *topic = place->topic < sink->topic_count ? sink->topics[place->topic] : NULL;
        const char *what = place->partition < 0 ? "it does not exist" : place->may_drop;

        if (what != NULL && (i == 0 || place->topic != sink->places[i - 1].topic))
            (void)printf("note: sink %s, %s %s: %s\n", name_of_sink(auditing, number),
                         topic != NULL ? "topic" : "stream",
                         topic != NULL ? topic : stream_of(auditing, number), what);
    }
}

static void print_notes(const struct auditing *auditing)
{
    char safe[1024];

    for (int i = 0; i < auditing->config->relay.sink_count; i++) {
        const struct audited_sink *sink = &auditing->sinks[i];

        if (!sink->is_audited)
            (void)printf("note: sink %s was not audited%s%s\n", name_of_sink(auditing, i),
                         sink->unreadable != NULL ? ": " : "",
                         sink->unreadable != NULL ? sink->unreadable : "");
        else if (!sink->is_read)
            (void)printf("note: sink %s could not be read to the end: %s\n",
                         name_of_sink(auditing, i),
                         text_show(safe, sizeof safe, text_of(sink->error.text), false));
        print_places(auditing, i);
    }
    if (auditing->no_sink > 0)
        (void)printf("note: rows that match no route now: %" PRId64 "\n", auditing->no_sink);
    if (auditing->sent.unreadable > 0)
        (void)printf("note: PostgreSQL cannot read %" PRId64 " row%s now: %s\n",
                     auditing->sent.unreadable, PLURAL(auditing->sent.unreadable),
                     text_show(safe, sizeof safe, text_of(auditing->sent.why), false));
    if (auditing->untold[0] != '\0')
        (void)printf("note: events without a row: %s\n",
                     text_show(safe, sizeof safe, text_of(auditing->untold), false));
}

static void print_option(const char *name, const char *value)
{
    char safe[512];

    if (value != NULL)
        (void)printf(" %s '%s'", name, text_show(safe, sizeof safe, text_of(value), false));
}

/* The next command: of the same rows and sinks. */
static void print_next(const struct auditing *auditing)
{
    const struct arguments *arguments = auditing->arguments;

    if (arguments->repair || audit_count(auditing->audit, AUDIT_MISSING) == 0)
        return;
    (void)printf("fix: outbox-relay audit --repair");
    print_option("--sink", arguments->sink);
    print_option("--since", arguments->since);
    print_option("--from", arguments->from);
    print_option("--to", arguments->to);
    (void)putchar('\n');
    cli_print_page("  ", kinds[AUDIT_MISSING].text);
}

void audit_show_summary(struct auditing *auditing)
{
    if (auditing->arguments->json) {
        summarise_json(auditing);
        return;
    }
    name_missing(auditing);
    (void)printf("%s\n", auditing->config->relay.outbox.table);
    print_count(auditing->rows, auditing->rows == 1 ? "row that was sent" : "rows that were sent");
    print_count(auditing->messages,
                auditing->messages == 1 ? "message at the brokers" : "messages at the brokers");
    print_kind(auditing, AUDIT_FOUND);
    for (int kind = 0; kind < AUDIT_KINDS; kind++)
        if (kind != AUDIT_FOUND)
            print_kind(auditing, (enum audit_kind)kind);
    if (auditing->foreign > 0)
        print_count(auditing->foreign, "without an event id: not of a relay");
    print_notes(auditing);
    print_next(auditing);
}
