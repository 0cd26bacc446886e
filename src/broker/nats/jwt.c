/*
 * When the login of a .creds file ends: "exp" of the user JWT in it (RFC 7519, seconds since 1970).
 * A server says of an expired JWT only that the login is refused.
 */

#include "broker/nats/nats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREDS_BYTES_MAX 16384

/* Base64 without padding, with - and _ (RFC 4648, 5). `out` has room for `len` bytes. */
static size_t decode(const char *text, size_t len, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0;
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;

        if (digit == NULL)
            return 0;
        bits = bits << 6 | (unsigned)(digit - digits);
        if (i % 4 != 0)
            out[count++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    return count;
}

/* The second of the JWT's three parts, between dots. */
static int64_t expiry_in(const char *creds)
{
    char claims[CREDS_BYTES_MAX];
    const char *jwt = strstr(creds, "-----BEGIN NATS USER JWT-----");
    const char *part = jwt != NULL ? strchr(jwt, '.') : NULL;
    const char *end = part != NULL ? strchr(part + 1, '.') : NULL;
    json_t *json;
    int64_t expires;

    if (end == NULL)
        return 0;
    json = json_loadb(claims, decode(part + 1, (size_t)(end - part - 1), claims), 0, NULL);
    expires = json_integer_value(json_object_get(json, "exp"));
    json_decref(json);
    return expires;
}

int64_t nats_login_expires(const struct sink_options *options)
{
    char creds[CREDS_BYTES_MAX];
    int64_t expires;
    size_t len;
    FILE *file;

    if (options->credentials_file == NULL)
        return 0;
    file = fopen(options->credentials_file, "re");
    if (file == NULL)
        return 0;
    len = fread(creds, 1, sizeof creds - 1, file);
    (void)fclose(file);
    creds[len] = '\0';
    expires = expiry_in(creds);
    explicit_bzero(creds, sizeof creds);
    return expires;
}
