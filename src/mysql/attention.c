/* What needs somebody, by the figures of the document. Reasons stand before what follows from
 * them. */
#include "mysql/document.h"

#include "base/clock.h"
#include "base/hint.h"
#include "base/text.h"
#include "message/remedy.h"
#include "source/source.h"

#include <inttypes.h>
#include <string.h>

#define LASTING_MS 2000 /* what is over within a moment needs nobody */

static const char *or_more(const json_t *document, const char *name)
{
    return json_is_true(json_object_get(document, name)) ? " or more" : "";
}

/* A relay alone does not send rows that are held. */
static void need_relay(json_t *document)
{
    double rows = document_number(document, "backlog") + document_number(document, "parked") -
                  document_number(document, "_held");
    char fix[64];

    if (document_number(document, "relays") > 0 || rows <= 0)
        return;
    (void)snprintf(fix, sizeof fix, "%s run", source_program);
    if (rows < 2)
        document_need(document, "error", fix, "no relay runs, and 1 row is to be sent");
    else
        document_need(document, "error", fix, "no relay runs, and %.0f%s rows are to be sent", rows,
                      or_more(document, "backlog_is_lower_bound"));
}

static void need_progress(json_t *document)
{
    int64_t now_ms = clock_wall_us() / 1000;
    const char *self = document_text(document, "_self");
    size_t at;
    json_t *trouble;

    json_array_foreach(json_object_get(document, "troubles"), at, trouble)
    {
        int64_t for_ms = now_ms - json_integer_value(json_object_get(trouble, "_since_ms"));

        if (for_ms >= LASTING_MS && strcmp(document_text(trouble, "relay"), self) != 0)
            document_need(document, "error", document_text(trouble, "fix"),
                          "relay %s, %s: no progress for %" PRId64 " s: %s",
                          document_text(trouble, "relay"), document_text(trouble, "lanes"),
                          for_ms / 1000, document_text(trouble, "error"));
    }
}

static bool is_paused(const json_t *document, const char *sink)
{
    size_t at;
    json_t *pause;

    json_array_foreach(json_object_get(document, "pauses"), at, pause)
    {
        if (strcmp(document_text(pause, "what"), "sink") == 0 &&
            strcmp(document_text(pause, "name"), sink) == 0)
            return true;
    }
    return false;
}

static void need_sinks(json_t *document)
{
    size_t at;
    json_t *sink;

    json_array_foreach(json_object_get(document, "sinks"), at, sink)
    {
        const char *name = document_text(sink, "name");
        bool is_away = strcmp(document_text(sink, "state"), "away") == 0;

        if (is_paused(document, name))
            continue;
        if (is_away && document_number(sink, "_up") > 0)
            document_need(document, "warning", source_check,
                          "sink %s is away for some relays, other relays can publish to it", name);
        else if (is_away)
            document_need(document, "error", source_check,
                          "sink %s cannot be published to: its rows wait, none is lost", name);
        else if (document_text(sink, "error")[0] != '\0')
            document_need(document, "warning", "nats consumer add, to its stream", "sink %s %s",
                          name, document_text(sink, "error"));
    }
}

/* A quote in the name could end the quotes in the shell into which the command is pasted. */
static void need_pauses(json_t *document)
{
    size_t at;
    json_t *pause;

    json_array_foreach(json_object_get(document, "pauses"), at, pause)
    {
        const char *what = document_text(pause, "what");
        const char *name = document_text(pause, "name");
        const char *reason = document_text(pause, "reason");
        const char *quote = strchr(name, '\'') == NULL ? "'" : "";
        char fix[700];

        (void)snprintf(fix, sizeof fix, "%s resume %s %s%s%s", source_program, what, quote,
                       quote[0] != '\0' ? name : "NAME", quote);
        document_need(document, "warning", fix, "%s %s is paused since %s by role %s%s%s", what,
                      name, document_text(pause, "since"), document_text(pause, "by"),
                      reason[0] != '\0' ? ": " : "", reason);
    }
}

static void need_losses(json_t *document)
{
    size_t at;
    json_t *loss;

    json_array_foreach(json_object_get(document, "_losses"), at, loss)
    {
        document_need(document, "error", "",
                      "sink %s may have lost events that it had acknowledged: %s (noticed at %s)",
                      document_text(loss, "sink"), document_text(loss, "text"),
                      document_text(loss, "noticed"));
    }
}

static void need_rows(json_t *document)
{
    double refused = document_number(document, "refused");
    double dead = document_number(document, "dead");
    const json_t *first = json_array_get(json_object_get(document, "dead_first"), 0);
    const char *why = document_text(document, "_refused_why");
    char fix[128];

    if (refused > 0)
        document_need(document, "error", hint_find("settle", text_of(why)),
                      "%.0f row%s and %s wait, first row %s: %s", refused, refused > 1 ? "s" : "",
                      refused > 1 ? "their keys" : "its key",
                      document_text(document, "_refused_row"), why);
    (void)snprintf(fix, sizeof fix, "%s dead show %s", source_program, document_text(first, "id"));
    if (dead >= 2)
        document_need(document, "error", fix,
                      "%.0f%s rows are dead: they stay until you retry or drop them", dead,
                      or_more(document, "dead_is_lower_bound"));
    else if (dead > 0)
        document_need(document, "error", fix, "1 row is dead: it stays until you retry or drop it");
}

/* Rows that wait behind a row that is tried again by itself need nobody. */
static void need_destinations(json_t *document)
{
    size_t at;
    json_t *waiting;

    json_array_foreach(json_object_get(document, "_waiting"), at, waiting)
    {
        const char *destination = document_text(waiting, "destination");
        const char *why = document_text(waiting, "why");
        int rows = (int)document_number(waiting, "rows");
        const struct remedy_names names = {document_text(document, "table"), {NULL, 0}, false};
        char sink[64];
        char fix[REMEDY_BYTES];

        (void)snprintf(sink, sizeof sink, "%.*s", (int)strcspn(destination, "/"), destination);
        if (remedy_write(fix, sizeof fix, why, &names) == NULL)
            (void)snprintf(fix, sizeof fix, "%s says what is wrong with it", source_check);
        if (destination[0] != '\0' && !is_paused(document, sink))
            document_need(document, "warning", fix, "%d row%s for %s: %s", rows,
                          rows == 1 ? " waits" : "s wait", destination, why);
        else if (destination[0] == '\0' && document_number(document, "dead") > 0)
            document_need(document, "warning", "", "%d row%s behind an earlier row of the same key",
                          rows, rows == 1 ? " waits" : "s wait");
    }
}

void document_attention(json_t *document)
{
    need_relay(document);
    need_progress(document);
    need_sinks(document);
    need_pauses(document);
    need_losses(document);
    need_rows(document);
    need_destinations(document);
}
