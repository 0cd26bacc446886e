/*
 * A server's answer to a publish, which is one line of JSON.
 *
 * Nearly always the answer is {"stream":"EVENTS", "seq":17}, which is recognized by comparing
 * bytes. Any other answer goes through a JSON parser. An answer that is neither an acknowledgement
 * nor a JetStream error counts as a refusal without a code, because it did not come from a stream.
 */

#include "broker/nats/nats.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 18 /* the most that always fit into the JSON parser's integers */

struct nats_answer nats_refusal(natsStatus status)
{
    struct nats_answer answer = {.state = NATS_REFUSED, .status = status};

    (void)snprintf(answer.text, sizeof answer.text, "%s", natsStatus_GetText(status));
    return answer;
}

/* The position after `wanted`, or NULL when `at` does not start with it. */
static const char *skip(const char *at, const char *end, const char *wanted)
{
    size_t len = strlen(wanted);

    return at != NULL && (size_t)(end - at) >= len && memcmp(at, wanted, len) == 0 ? at + len
                                                                                   : NULL;
}

/* The sequence number of an answer in the common form; 0 for any other answer. */
static uint64_t common_sequence(const char *data, size_t len, const char *stream)
{
    const char *end = data + len;
    const char *at = skip(data, end, "{\"stream\":\"");
    const char *digits;
    uint64_t sequence = 0;

    digits = skip(skip(at, end, stream), end, "\", \"seq\":");
    if (digits == NULL || digits == end || *digits == '0')
        return 0;
    for (at = digits; at < end && at - digits < DIGITS_MAX && *at >= '0' && *at <= '9'; at++)
        sequence = sequence * 10 + (uint64_t)(*at - '0');
    return skip(at, end, "}") == end ? sequence : 0;
}

static struct nats_answer no_acknowledgement(const char *why)
{
    struct nats_answer answer = nats_refusal(NATS_ERR);

    (void)snprintf(answer.text, sizeof answer.text, "%s", why);
    return answer;
}

static struct nats_answer read_error(const json_t *reply)
{
    const char *text = json_string_value(json_object_get(reply, "description"));
    json_int_t code = json_integer_value(json_object_get(reply, "err_code"));
    struct nats_answer answer =
        no_acknowledgement(text != NULL ? text : "an error without a description");

    answer.code = code > 0 && code <= INT32_MAX ? (int)code : 0;
    return answer;
}

/* The last message of an atomic batch is acknowledged with the batch's id and size. */
static void read_batch(const json_t *reply, struct nats_answer *answer)
{
    const char *id = json_string_value(json_object_get(reply, "batch"));

    if (id != NULL)
        (void)snprintf(answer->batch_id, sizeof answer->batch_id, "%s", id);
    answer->batch_count = json_integer_value(json_object_get(reply, "count"));
}

/* A positive acknowledgement can also come from another stream, or from the server's own API. A
 * duplicate without a sequence number does not prove that the message is stored (duplicates.c): a
 * server records an id before it stores the message, and a stream with interest retention does not
 * store a message that no consumer is interested in. */
static struct nats_answer read_stored(const json_t *reply, const char *stream)
{
    const char *name = json_string_value(json_object_get(reply, "stream"));
    json_int_t number = json_integer_value(json_object_get(reply, "seq"));
    bool duplicate = json_is_true(json_object_get(reply, "duplicate"));
    struct nats_answer answer = {.sequence = number > 0 ? (uint64_t)number : 0};

    if (name == NULL)
        return no_acknowledgement("it does not name a stream");
    if (strcmp(name, stream) == 0 && (answer.sequence > 0 || duplicate)) {
        answer.state = duplicate ? NATS_DUPLICATE : NATS_STORED;
        read_batch(reply, &answer);
        return answer;
    }
    answer.state = NATS_STORED_ELSEWHERE;
    (void)snprintf(answer.text, sizeof answer.text, "stream \"%.64s\" as number %llu", name,
                   (unsigned long long)answer.sequence);
    return answer;
}

struct nats_answer nats_read_ack(const char *data, size_t len, const char *stream)
{
    struct nats_answer answer = {.state = NATS_STORED};
    json_t *reply;

    answer.sequence = common_sequence(data, len, stream);
    if (answer.sequence > 0)
        return answer;
    reply = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(reply))
        answer = no_acknowledgement("it is not a JSON object");
    else if (json_object_get(reply, "error") != NULL)
        answer = read_error(json_object_get(reply, "error"));
    else
        answer = read_stored(reply, stream);
    json_decref(reply);
    return answer;
}
