#ifndef UNIT_BROKER_FIXTURE_H
#define UNIT_BROKER_FIXTURE_H

#include "base/clock.h"
#include "broker/broker.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that own nothing, and messages whose bytes the test owns. */

#define PUBLISH_TIMEOUT_MS 10000
#define SINK 0

static inline struct sink_options sink_of_type(char *type)
{
    return (struct sink_options){
        .name = "events", .type = type, .publish_timeout_ms = PUBLISH_TIMEOUT_MS, .batch = 500};
}

static inline void allow(struct sink_options *options, char *pattern)
{
    char why[160];
    int at = options->allow.count++;

    options->allow.items[at] = pattern;
    assert_int_equal(match_parse(&options->allowed[at], pattern, why, sizeof why), 0);
}

static inline void allow_nothing_more(struct sink_options *options)
{
    for (int i = 0; i < options->allow.count; i++)
        match_free(&options->allowed[i]);
    options->allow.count = 0;
}

static inline void set_property(struct sink_options *options, char *name, char *value)
{
    options->properties[options->property_count++] = (struct property){name, value, 7};
}

static inline void set_payload(struct message *message, const char *data, size_t len)
{
    message->payload = (struct text){data, len};
    message->payload_len = data != NULL ? (int64_t)len : -1;
}

/* key, payload: NULL is NULL. */
static inline struct message *add_message(struct batch *batch, const char *destination,
                                          const char *key, const char *payload)
{
    struct message *message = batch_add(batch);
    char id[64];

    assert_non_null(message);
    (void)snprintf(id, sizeof id, "00000000-0000-4000-8000-%012d", batch->count);
    message->event_id = batch_copy(batch, id, strlen(id));
    message->sink = SINK;
    message->destination = text_of(destination);
    message->route_key = text_of(key);
    set_payload(message, payload, payload != NULL ? strlen(payload) : 0);
    return message;
}

static inline void assert_refused(const struct message *message, enum verdict verdict,
                                  const char *part_of_reason)
{
    assert_int_equal(message->verdict, verdict);
    assert_non_null(message->reason);
    if (strstr(message->reason, part_of_reason) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part_of_reason, message->reason);
}

static inline void assert_says(const struct error *error, const char *part)
{
    if (strstr(error->text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, error->text);
}

static inline int count_verdicts(const struct batch *batch, enum verdict verdict)
{
    int count = 0;

    for (int i = 0; i < batch->count; i++)
        count += batch->messages[i].verdict == verdict;
    return count;
}

#endif
