#include "outbox/row.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EPOCH_2000_S INT64_C(946684800)
#define MICROSECONDS INT64_C(1000000)
#define YEAR_10000_S INT64_C(253402300800)
#define YEAR_0_S INT64_C(-62167219200)
#define NUMBER_BYTES 40

int32_t row_int4(const char *wire)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++)
        value = value << 8 | (unsigned char)wire[i];
    return (int32_t)value;
}

int64_t row_int8(const char *wire)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value = value << 8 | (unsigned char)wire[i];
    return (int64_t)value;
}

size_t row_time(char out[ROW_TIME_BYTES], int64_t microseconds)
{
    int64_t seconds = microseconds / MICROSECONDS;
    int64_t fraction = microseconds % MICROSECONDS;
    time_t when;
    struct tm utc;

    if (fraction < 0) {
        seconds--;
        fraction += MICROSECONDS;
    }
    if (microseconds == INT64_MAX || microseconds == INT64_MIN ||
        seconds < YEAR_0_S - EPOCH_2000_S || seconds >= YEAR_10000_S - EPOCH_2000_S)
        return 0;
    when = (time_t)(seconds + EPOCH_2000_S);
    (void)gmtime_r(&when, &utc);
    return (size_t)snprintf(out, ROW_TIME_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%06" PRId64 "Z",
                            (utc.tm_year + 1900) % 10000, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                            utc.tm_min, utc.tm_sec, fraction);
}

/* The shortest decimal that reads back as the same double. */
static void format_real(char out[NUMBER_BYTES], double value)
{
    double back = 0;

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, NUMBER_BYTES, "%.*g", digits, value);
        if (sscanf(out, "%lf", &back) == 1 && !(back < value) && !(back > value))
            return;
    }
}

const char row_no_memory[] = "out of memory";

/* NULL, or why not. */
static const char *take_scalar(struct text *out, const json_t *value, struct batch *batch)
{
    char number[NUMBER_BYTES];

    if (json_is_string(value)) {
        *out = batch_copy(batch, json_string_value(value), json_string_length(value));
        return out->data != NULL ? NULL : row_no_memory;
    }
    if (json_is_integer(value))
        (void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        format_real(number, json_real_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(number, sizeof number, "%s", json_is_true(value) ? "true" : "false");
    else
        return "headers: a value is an object or an array; only strings, numbers and booleans are "
               "allowed";
    *out = batch_copy(batch, number, strlen(number));
    return out->data != NULL ? NULL : row_no_memory;
}

static const char *take_headers(struct message *message, json_t *object, struct batch *batch)
{
    struct header *headers = batch_alloc(batch, json_object_size(object) * sizeof *headers);
    const char *name;
    json_t *value;
    int count = 0;

    if (headers == NULL)
        return row_no_memory;
    json_object_foreach(object, name, value)
    {
        const char *problem;

        if (json_is_null(value))
            continue;
        headers[count].name = batch_copy(batch, name, strlen(name));
        if (headers[count].name.data == NULL)
            return row_no_memory;
        problem = take_scalar(&headers[count].value, value, batch);
        if (problem != NULL)
            return problem;
        count++;
    }
    message->headers = headers;
    message->header_count = count;
    return NULL;
}

const char *row_headers(struct message *message, struct text json, struct batch *batch)
{
    json_error_t error;
    json_t *root;
    const char *problem;

    if (json.data == NULL || (json.len == 2 && memcmp(json.data, "{}", 2) == 0))
        return NULL;
    root = json_loadb(json.data, json.len,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (root == NULL)
        return json_error_code(&error) == json_error_numeric_overflow
                   ? "headers: a number larger than 64 bits hold; write it as a string"
                   : "headers: not a JSON object with distinct names";
    if (json_is_null(root))
        problem = NULL;
    else if (!json_is_object(root))
        problem = "headers: not a JSON object";
    else
        problem = take_headers(message, root, batch);
    json_decref(root);
    return problem;
}
