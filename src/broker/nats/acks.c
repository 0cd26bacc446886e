/*
 * What a server answers to a publish: one line of JSON.
 *
 * Nearly always it is {"stream":"EVENTS", "seq":17}, and told by comparing bytes; whatever differs
 * from that in the least goes through a JSON parser. An answer that is neither an acknowledgement
 * nor an error of JetStream's is a refusal without a code: who answers there is not a stream.
 */

#include "broker/nats/acks.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 18 /* fewer than the JSON parser refuses */

struct nats_answer nats_refusal(natsStatus status)
{
    struct nats_answer answer = {.state = NATS_REFUSED, .status = status};

    (void)snprintf(answer.text, sizeof answer.text, "%s", natsStatus_GetText(status));
    return answer;
}

/* Past `wanted`, or NULL. */
static const char *skip(const char *at, const char *end, const char *wanted)
{
    size_t len = strlen(wanted);

    return at != NULL && (size_t)(end - at) >= len && memcmp(at, wanted, len) == 0 ? at + len
                                                                                   : NULL;
}

/* 0: it is not the common form. */
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

static struct nats_answer read_error(const json_t *said)
{
    const char *text = json_string_value(json_object_get(said, "description"));
    json_int_t code = json_integer_value(json_object_get(said, "err_code"));
    struct nats_answer answer = no_acknowledgement(text != NULL ? text : "an error without a text");

    answer.code = code > 0 && code <= INT32_MAX ? (int)code : 0;
    return answer;
}

/* A positive acknowledgement can also come from another stream, or from the server's own API. A
 * duplicate without a number is no proof (duplicates.c): servers note an id before its message
 * is stored, and a stream with interest retention keeps nothing that no consumer wants. */
static struct nats_answer read_stored(const json_t *said, const char *stream)
{
    const char *name = json_string_value(json_object_get(said, "stream"));
    json_int_t number = json_integer_value(json_object_get(said, "seq"));
    bool duplicate = json_is_true(json_object_get(said, "duplicate"));
    struct nats_answer answer = {.sequence = number > 0 ? (uint64_t)number : 0};

    if (name == NULL)
        return no_acknowledgement("it names no stream");
    if (strcmp(name, stream) == 0 && (answer.sequence > 0 || duplicate)) {
        answer.state = duplicate ? NATS_DUPLICATE : NATS_STORED;
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
    json_t *said;

    answer.sequence = common_sequence(data, len, stream);
    if (answer.sequence > 0)
        return answer;
    said = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(said))
        answer = no_acknowledgement("it is no JSON object");
    else if (json_object_get(said, "error") != NULL)
        answer = read_error(json_object_get(said, "error"));
    else
        answer = read_stored(said, stream);
    json_decref(said);
    return answer;
}
