#include "source/json.h"

#include "base/clock.h"
#include "base/finding.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *number_or_null(double value)
{
    return value >= 0 && isfinite(value) ? json_real(value) : json_null();
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
    char text[40];

    return unix_ms > 0 ? text_or_null(clock_utc(text, unix_ms, true)) : json_null();
}

/* A copy without what is for the program alone. */
static json_t *shown(const json_t *whole)
{
    json_t *copy = json_is_array(whole) ? json_array() : json_object();
    const char *name;
    json_t *value;

    if (!json_is_array(whole) && !json_is_object(whole)) {
        json_decref(copy);
        return json_deep_copy(whole);
    }
    for (size_t i = 0; i < json_array_size(whole); i++)
        (void)json_array_append_new(copy, shown(json_array_get(whole, i)));
    json_object_foreach ((json_t *)whole, name, value)
        if (name[0] != '_')
            (void)json_object_set_new(copy, name, shown(value));
    return copy;
}

char *status_dump(const json_t *document)
{
    json_t *object = shown(document);
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));

    json_decref(object);
    return text;
}
