/* status as JSON. A name that is here stays; what is unknown is null. */
#include "admin/status/json.h"

#include "base/text.h"

#include <math.h>
#include <string.h>
#include <time.h>

json_t *number_or_null(double value)
{
    return value >= 0 && isfinite(value) ? json_real(value) : json_null();
}

json_t *count_or_null(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

json_t *pack_text(const char *text)
{
    char escaped[4 * sizeof((struct finding){0}.fix)];
    json_t *string = json_string(text);

    return string != NULL ? string
                          : json_string(text_escape(escaped, sizeof escaped, text, strlen(text)));
}

json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? pack_text(text) : json_null();
}

json_t *pack_time(int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    char text[40];
    size_t len;

    if (unix_ms <= 0 || gmtime_r(&seconds, &utc) == NULL)
        return json_null();
    len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + len, sizeof text - len, ".%03dZ", (int)(unix_ms % 1000));
    return json_string(text);
}

static json_t *pack_reasons(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->reason_count; i++)
        (void)json_array_append_new(list, json_pack("{s:I, s:o}", "count", status->reasons[i].count,
                                                    "reason", pack_text(status->reasons[i].text)));
    return list;
}

static json_t *pack_sinks(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->sink_count; i++) {
        const struct status_sink *sink = &status->sinks[i];

        (void)json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", pack_text(sink->name),
                            "state", pack_text(sink->state), "since", pack_time(sink->since_ms),
                            "error", text_or_null(sink->error), "order", text_or_null(sink->order),
                            "rows", count_or_null(sink->rows)));
    }
    return list;
}

static json_t *pack_processes(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->process_count; i++) {
        const struct status_relay *relay = &status->processes[i];
        bool known = relay->answers;
        char config[FINGERPRINT_HASH_BYTES];

        fingerprint_whole(&relay->config, config);
        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                      pack_text(relay->name), "answers",
                      status->has_asked ? json_boolean(known) : json_null(), "version",
                      text_or_null(relay->version), "config", text_or_null(config), "since",
                      pack_time(relay->since_ms), "sent", count_or_null(known ? relay->sent : -1),
                      "last_sent", pack_time(relay->sent_at_ms), "parked",
                      count_or_null(known ? relay->parked : -1), "dead",
                      count_or_null(known ? relay->dead : -1), "rate_per_second",
                      number_or_null(relay->per_s)));
    }
    return list;
}

static json_t *pack_lanes(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->lane_count; i++) {
        const struct status_lane *lane = &status->lane_list[i];

        (void)json_array_append_new(
            list, json_pack("{s:o, s:i, s:o, s:o}", "relay", pack_text(lane->relay), "lane",
                            lane->number, "state", text_or_null(lane->state), "transaction_seconds",
                            number_or_null(lane->transaction_s)));
    }
    return list;
}

static json_t *pack_troubles(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->trouble_count; i++) {
        const struct status_trouble *trouble = &status->troubles[i];

        (void)json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "relay", pack_text(trouble->relay), "lanes",
                      pack_text(trouble->lanes), "since", pack_time(trouble->since_ms), "failures",
                      count_or_null(trouble->failures), "error", pack_text(trouble->error), "fix",
                      text_or_null(trouble->fix)));
    }
    return list;
}

static json_t *pack_pauses(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; status->pauses != NULL && i < status->pauses->count; i++) {
        const struct pause_note *pause = &status->pauses->items[i];

        (void)json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "what", pack_text(pause->what), "name",
                            pack_text(pause->name), "since", text_or_null(pause->since), "by",
                            pack_text(pause->by), "reason", text_or_null(pause->reason)));
    }
    return list;
}

static json_t *pack_attention(const struct status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->attention.count; i++) {
        const struct finding *finding = &status->attention.items[i];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:o, s:o}", "level",
                            finding->level == FINDING_ERROR ? "error" : "warning", "text",
                            pack_text(finding->text), "fix", text_or_null(finding->fix)));
    }
    return list;
}

json_t *status_pack(const struct status *status)
{
    json_t *object = json_object();
    const struct {
        const char *name;
        json_t *value;
    } fields[] = {{"time", pack_time(status->taken_ms)},
                  {"table", pack_text(status->table)},
                  {"keys_locked_by", text_or_null(status->locks_keys)},
                  {"backlog", count_or_null(status->backlog)},
                  {"backlog_is_lower_bound", json_boolean(status->backlog_is_bound)},
                  {"oldest_seconds", number_or_null(status->oldest_s)},
                  {"backlog_oldest_seconds", number_or_null(status->backlog_oldest_s)},
                  {"parked", count_or_null(status->parked)},
                  {"parked_is_lower_bound", json_boolean(status->parked_is_bound)},
                  {"scheduled", json_integer(status->scheduled)},
                  {"refused", json_integer(status->refused)},
                  {"parked_oldest_seconds", number_or_null(status->parked_oldest_s)},
                  {"next_try_seconds", number_or_null(status->next_try_s)},
                  {"dead", count_or_null(status->dead)},
                  {"dead_is_lower_bound", json_boolean(status->dead_is_bound)},
                  {"dead_oldest_seconds", number_or_null(status->dead_oldest_s)},
                  {"parked_reasons", pack_reasons(status)},
                  {"rate_per_second", number_or_null(status->per_s)},
                  {"relays", json_integer(status->relays)},
                  {"lanes", json_integer(status->lanes)},
                  {"sinks", pack_sinks(status)},
                  {"processes", pack_processes(status)},
                  {"lane_states", pack_lanes(status)},
                  {"troubles", pack_troubles(status)},
                  {"pauses", pack_pauses(status)},
                  {"attention", pack_attention(status)}};
    bool whole = object != NULL;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        whole = json_object_set_new(object, fields[i].name, fields[i].value) == 0 && whole;
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

char *status_dump(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));

    json_decref(object);
    return text;
}

char *status_json(const struct status *status)
{
    return status_dump(status_pack(status));
}
