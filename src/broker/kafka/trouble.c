/*
 * Connection errors: from librdkafka's message to a cause and to the key that needs changing.
 *
 * librdkafka reports every bad certificate as "certificate verify failed", so a verification
 * callback records what OpenSSL has found. The callback never overrules OpenSSL.
 */

#include "broker/kafka/kafka.h"

#include <stdio.h>
#include <string.h>

#define UNTRUSTED "an authority that is not trusted signed the broker's certificate"

/* The numbers are X509_V_ERR_* (openssl/x509_vfy.h), which are part of OpenSSL's interface. */
static const struct {
    int error;
    const char *cause;
} certificate_errors[] = {
    {2, UNTRUSTED},
    {9, "the broker's certificate is not valid yet"},
    {10, "the broker's certificate has expired"},
    {18, "the broker's certificate is self-signed and not trusted"},
    {19, UNTRUSTED},
    {20, UNTRUSTED},
    {21, UNTRUSTED},
    {23, "the broker's certificate was revoked"},
    {62, "the broker's certificate is for another host"},
    {64, "the broker's certificate is for another address"},
};

/* Runs on librdkafka's threads, for each certificate of a chain. Returns 1 if OpenSSL accepts
 * it. */
int kafka_on_certificate(rd_kafka_t *client, const char *name, int32_t id, int *x509_error,
                         int depth, const char *der, size_t size, char *why, size_t why_size,
                         void *opaque)
{
    struct kafka_link *link = opaque;

    (void)client;
    (void)name;
    (void)id;
    (void)depth;
    (void)der;
    (void)size;
    if (*x509_error == 0)
        return 1;
    (void)snprintf(why, why_size, "X509 error %d", *x509_error);
    atomic_store(&link->certificate_error, *x509_error);
    return 0;
}

static const char *find_cause(int error)
{
    for (size_t i = 0; i < sizeof certificate_errors / sizeof *certificate_errors; i++)
        if (certificate_errors[i].error == error)
            return certificate_errors[i].cause;
    return "the broker's certificate is not accepted";
}

/* `reason` has the form "ssl://HOST:PORT/bootstrap: ... certificate verify failed: ...". */
static bool note_certificate(struct kafka *kafka, const char *reason)
{
    const char *end = strstr(reason, ": ");
    int error = atomic_load(&kafka->link->certificate_error);

    if (error == 0 || end == NULL || strstr(end, "certificate verify failed") == NULL)
        return false;
    (void)snprintf(kafka->trouble, sizeof kafka->trouble, "%.*s: %s (X509 error %d)",
                   (int)(end - reason), reason, find_cause(error), error);
    return true;
}

/* Removes librdkafka's guess at a cause, which misleads, and the parts that change with each
 * attempt, because a changed text is logged again. Example: "...: Local: Timed out: probably due to
 * broker version < 0.10 (...) (after 3002ms in state X, 1 identical error(s) suppressed)". */
void kafka_note_trouble(struct kafka *kafka, const char *reason)
{
    static const char guess[] = ": probably due to broker version", before_state[] = "ms in state ";
    const char *state = strstr(reason, before_state);
    char *end;

    if (note_certificate(kafka, reason))
        return;
    (void)snprintf(kafka->trouble, sizeof kafka->trouble, "%s", reason);
    end = strstr(kafka->trouble, guess);
    if (end != NULL)
        *end = '\0';
    end = strstr(kafka->trouble, " (after ");
    if (end == NULL || state == NULL)
        return;
    state += strlen(before_state);
    (void)snprintf(end, sizeof kafka->trouble - (size_t)(end - kafka->trouble), " (in state %.*s)",
                   (int)strcspn(state, ",)"), state);
}
