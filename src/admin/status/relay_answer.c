#include "admin/status/relay_answer.h"

#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (INT64_C(1) << 53)

/* Copies as much as fits, without cutting a character. */
static void copy_text(char *out, size_t size, const char *text, size_t max)
{
    size_t len = strlen(text);

    if (max >= size)
        max = size - 1;
    if (len > max)
        for (len = max; len > 0 && ((unsigned char)text[len] & 0xC0U) == 0x80U;)
            len--;
    memcpy(out, text, len);
    out[len] = '\0';
}

/* A broker's error need not be UTF-8, but jansson accepts nothing else. */
static json_t *pack_error(const char *error, size_t max)
{
    char whole[4 * sizeof((struct answer_sink){0}.error)];
    char cut[sizeof whole];

    if (text_is_utf8(error, strlen(error)))
        copy_text(whole, sizeof whole, error, sizeof whole);
    else
        text_escape(whole, sizeof whole, error, strlen(error));
    copy_text(cut, sizeof cut, whole, max);
    return json_string(cut);
}

static json_t *pack(const struct relay_answer *answer, size_t error_max, int lanes)
{
    json_t *sinks = json_array();
    json_t *lane_list = json_array();

    for (int i = 0; i < answer->sink_count; i++) {
        const struct answer_sink *sink = &answer->sinks[i];

        (void)json_array_append_new(sinks, json_pack("{s:s, s:s, s:I, s:o}", "name", sink->name,
                                                     "state", sink->state, "since", sink->since_ms,
                                                     "error", pack_error(sink->error, error_max)));
    }
    for (int i = 0; i < answer->lane_count && i < lanes; i++) {
        const struct answer_lane *lane = &answer->lanes[i];

        (void)json_array_append_new(lane_list, json_pack("[i, s, I, I]", lane->number, lane->state,
                                                         (json_int_t)lane->for_ms,
                                                         (json_int_t)lane->claim_for_ms));
    }
    return json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:o, s:o}", "table",
                     (json_int_t)answer->table, "version", answer->version, "since",
                     answer->since_ms, "sent", answer->sent, "parked", answer->parked, "dead",
                     answer->dead, "rate", answer->per_s, "unsent_from",
                     (json_int_t)answer->unsent_from, "sinks", sinks, "lanes", lane_list);
}

char *relay_answer_write(const struct relay_answer *answer, char out[ANSWER_BYTES])
{
    size_t error_max = sizeof((struct answer_sink){0}.error);
    int lanes = answer->lane_count;

    for (;;) {
        json_t *object = pack(answer, error_max, lanes);
        size_t len = object == NULL
                         ? 0
                         : json_dumpb(object, out, ANSWER_BYTES - 1,
                                      JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));

        json_decref(object);
        if (len < ANSWER_BYTES || (error_max == 0 && lanes == 0)) {
            out[len < ANSWER_BYTES ? len : 0] = '\0';
            return out;
        }
        if (error_max > 0)
            error_max /= 2;
        else
            lanes /= 2;
    }
}

/* A number that no relay counts would overflow where it is converted. */
static int64_t read_count(const json_t *number)
{
    json_int_t value = json_integer_value(number);

    return value < 0 ? 0 : value < COUNT_MAX ? value : COUNT_MAX;
}

static double read_rate(const json_t *number)
{
    double value = json_number_value(number);

    return value > 0 ? (value < 1e12 ? value : 1e12) : 0;
}

static void read_text(char *out, size_t size, const json_t *text)
{
    const char *string = json_string_value(text);

    copy_text(out, size, string != NULL ? string : "", size);
}

static void read_sinks(struct relay_answer *answer, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && answer->sink_count < ANSWER_SINKS_MAX; i++) {
        const json_t *object = json_array_get(list, i);
        struct answer_sink *sink = &answer->sinks[answer->sink_count++];

        read_text(sink->name, sizeof sink->name, json_object_get(object, "name"));
        read_text(sink->state, sizeof sink->state, json_object_get(object, "state"));
        read_text(sink->error, sizeof sink->error, json_object_get(object, "error"));
        sink->since_ms = read_count(json_object_get(object, "since"));
    }
}

static void read_lanes(struct relay_answer *answer, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && answer->lane_count < ANSWER_LANES_MAX; i++) {
        const json_t *values = json_array_get(list, i);
        struct answer_lane *lane = &answer->lanes[answer->lane_count++];

        lane->number = (int)json_integer_value(json_array_get(values, 0));
        read_text(lane->state, sizeof lane->state, json_array_get(values, 1));
        lane->for_ms = read_count(json_array_get(values, 2));
        lane->claim_for_ms = json_integer_value(json_array_get(values, 3));
    }
}

bool relay_answer_read(struct relay_answer *answer, const char *json)
{
    json_t *object = json_loads(json, 0, NULL);
    const json_t *table = json_object_get(object, "table");
    const json_t *unsent_from = json_object_get(object, "unsent_from");
    bool fits = json_is_integer(table);

    *answer = (struct relay_answer){.table = (uint32_t)json_integer_value(table)};
    read_text(answer->version, sizeof answer->version, json_object_get(object, "version"));
    answer->since_ms = read_count(json_object_get(object, "since"));
    answer->sent = read_count(json_object_get(object, "sent"));
    answer->parked = read_count(json_object_get(object, "parked"));
    answer->dead = read_count(json_object_get(object, "dead"));
    answer->per_s = read_rate(json_object_get(object, "rate"));
    answer->unsent_from =
        json_is_integer(unsent_from) ? json_integer_value(unsent_from) : INT64_MIN;
    read_sinks(answer, json_object_get(object, "sinks"));
    read_lanes(answer, json_object_get(object, "lanes"));
    json_decref(object);
    return fits;
}

bool relay_answer_token_fits(const char *token)
{
    return strlen(token) == STATUS_TOKEN_BYTES - 1 &&
           strspn(token, "0123456789abcdef") == STATUS_TOKEN_BYTES - 1;
}
