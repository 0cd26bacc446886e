/*
 * When the login of a .creds file ends: "exp" of the user JWT in it (RFC 7519, seconds since 1970).
 * A server says of an expired JWT only that the login is refused.
 */

#include "broker/nats/nats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREDS_BYTES_MAX 16384

/* The second of the JWT's three parts, between dots, is base64 (RFC 4648, 5). */
static int64_t expiry_in(const char *creds)
{
    const char *jwt = strstr(creds, "-----BEGIN NATS USER JWT-----");
    const char *part = jwt != NULL ? strchr(jwt, '.') : NULL;
    size_t len = 0;
    char *claims = part != NULL ? nats_decode(part + 1, &len) : NULL;
    json_t *json = claims != NULL ? json_loadb(claims, len, 0, NULL) : NULL;
    int64_t expires = json_integer_value(json_object_get(json, "exp"));

    json_decref(json);
    free(claims);
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
