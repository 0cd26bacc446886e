#include "trace/span.h"

#include <string.h>

#define VERSION_LEN 2
#define TRACE_LEN (SPAN_TRACE_BYTES - 1)
#define ID_LEN (SPAN_ID_BYTES - 1)
#define TRACE_AT (VERSION_LEN + 1)
#define ID_AT (TRACE_AT + TRACE_LEN + 1)
#define FLAGS_AT (ID_AT + ID_LEN + 1)
#define PARENT_LEN (FLAGS_AT + 2)

/* The digits are lower case. */
static bool is_hex(const char *digits, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (memchr("0123456789abcdef", digits[i], 16) == NULL)
            return false;
    return true;
}

/* An id of zeros is none. */
static bool is_id(const char *digits, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (digits[i] != '0')
            return is_hex(digits, len);
    return false;
}

/* A version after 00 may have more behind these fields; "ff" is none. Most rows are not sampled, so
 * that is looked at first: the lowest bit of the flags' last digit. */
bool span_read_parent(struct text traceparent, struct span_parent *parent)
{
    const char *text = traceparent.data;

    if (text == NULL || traceparent.len < PARENT_LEN ||
        memchr("13579bdf", text[PARENT_LEN - 1], 8) == NULL || !is_hex(text, VERSION_LEN) ||
        memcmp(text, "ff", VERSION_LEN) == 0)
        return false;
    if (traceparent.len > PARENT_LEN &&
        (memcmp(text, "00", VERSION_LEN) == 0 || text[PARENT_LEN] != '-'))
        return false;
    if (text[TRACE_AT - 1] != '-' || text[ID_AT - 1] != '-' || text[FLAGS_AT - 1] != '-' ||
        !is_id(text + TRACE_AT, TRACE_LEN) || !is_id(text + ID_AT, ID_LEN) ||
        !is_hex(text + FLAGS_AT, 2))
        return false;
    span_copy(parent->trace_id, SPAN_TRACE_BYTES, (struct text){text + TRACE_AT, TRACE_LEN});
    span_copy(parent->id, SPAN_ID_BYTES, (struct text){text + ID_AT, ID_LEN});
    return true;
}

bool span_takes_state(struct text tracestate)
{
    if (tracestate.data == NULL || tracestate.len >= SPAN_STATE_BYTES)
        return false;
    for (size_t i = 0; i < tracestate.len; i++)
        if (tracestate.data[i] < ' ' || tracestate.data[i] > '~')
            return false;
    return true;
}

void span_copy(char *out, size_t size, struct text text)
{
    struct text cut = text_cut(text, size - 1);

    if (cut.len > 0)
        memcpy(out, cut.data, cut.len);
    out[cut.len] = '\0';
}
