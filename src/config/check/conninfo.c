#include "config/check/conninfo.h"

#include "base/text.h"
#include "config/check/address.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 64
#define MASK "***"

enum spelling { SPELLING_WORDS, SPELLING_URI };

struct parameter {
    const char *name;
    bool secret;
};

/* PostgreSQL 18, "34.1.2. Parameter Key Words". What stands under another name could be a secret
 * that nobody hides, so it is refused; libpq would refuse it too. */
static const struct parameter parameters[] = {
    {"application_name", false},
    {"channel_binding", false},
    {"client_encoding", false},
    {"connect_timeout", false},
    {"dbname", false},
    {"fallback_application_name", false},
    {"gssdelegation", false},
    {"gssencmode", false},
    {"gsslib", false},
    {"host", false},
    {"hostaddr", false},
    {"keepalives", false},
    {"keepalives_count", false},
    {"keepalives_idle", false},
    {"keepalives_interval", false},
    {"krbsrvname", false},
    {"load_balance_hosts", false},
    {"max_protocol_version", false},
    {"min_protocol_version", false},
    {"oauth_client_id", false},
    {"oauth_client_secret", true},
    {"oauth_issuer", false},
    {"oauth_scope", false},
    {"options", false},
    {"passfile", false},
    {"password", true},
    {"port", false},
    {"replication", false},
    {"require_auth", false},
    {"requirepeer", false},
    {"scram_client_key", true},
    {"scram_server_key", true},
    {"service", false},
    {"ssl_max_protocol_version", false},
    {"ssl_min_protocol_version", false},
    {"sslcert", false},
    {"sslcertmode", false},
    {"sslcompression", false},
    {"sslcrl", false},
    {"sslcrldir", false},
    {"sslkey", false},
    {"sslkeylogfile", false},
    {"sslmode", false},
    {"sslnegotiation", false},
    {"sslpassword", true},
    {"sslrootcert", false},
    {"sslsni", false},
    {"target_session_attrs", false},
    {"tcp_user_timeout", false},
    {"user", false},
};

/* The one with this name, else the nearest. */
static const struct parameter *find_parameter(const char *name)
{
    const struct parameter *nearest = &parameters[0];

    for (size_t i = 1; i < sizeof parameters / sizeof parameters[0]; i++)
        if (text_distance(name, parameters[i].name) < text_distance(name, nearest->name))
            nearest = &parameters[i];
    return nearest;
}

static int refuse(struct conninfo *conninfo, const char *format, const char *word)
{
    (void)snprintf(conninfo->problem, sizeof conninfo->problem, format, word);
    return -1;
}

/* The name itself is not repeated: it may be a piece of a password. */
static int refuse_name(struct conninfo *conninfo, const struct parameter *nearest)
{
    return refuse(conninfo,
                  "a keyword that libpq does not know; the nearest that it does is \"%s\"",
                  nearest->name);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Backslashes of words, percent signs of URIs. What does not fit is cut. */
static void decode(char *out, size_t size, struct text raw, enum spelling spelling)
{
    size_t used = 0;

    for (size_t at = 0; at < raw.len && used + 1 < size; at++) {
        char c = raw.data[at];

        if (spelling == SPELLING_WORDS && c == '\\' && at + 1 < raw.len) {
            c = raw.data[++at];
        } else if (spelling == SPELLING_URI && c == '%' && at + 2 < raw.len &&
                   hex_value(raw.data[at + 1]) >= 0 && hex_value(raw.data[at + 2]) >= 0) {
            c = (char)(hex_value(raw.data[at + 1]) * 16 + hex_value(raw.data[at + 2]));
            at += 2;
        }
        out[used++] = c;
    }
    out[used] = '\0';
}

static int add_secret(struct conninfo *conninfo, const char *text, struct text raw)
{
    if (raw.len == 0)
        return 0;
    if (conninfo->secret_count == CONNINFO_SECRETS_MAX)
        return -1;
    conninfo->secrets[conninfo->secret_count].start = (size_t)(raw.data - text);
    conninfo->secrets[conninfo->secret_count++].len = raw.len;
    return 0;
}

/* JDBC's word, which libpq takes in a URI. */
static int check_ssl(struct conninfo *conninfo, struct text raw)
{
    if (!text_equal(raw, text_of("true")))
        return refuse(conninfo, "ssl may only be %s; use sslmode", "true");
    return 0;
}

static int check_sslmode(struct conninfo *conninfo, struct text raw, enum spelling spelling)
{
    static const char *const modes[] = {"disable", "allow",     "prefer",
                                        "require", "verify-ca", "verify-full"};
    char mode[32];

    decode(mode, sizeof mode, raw, spelling);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(mode, modes[i]) == 0)
            return 0;
    return refuse(conninfo, "sslmode must be %s",
                  "disable, allow, prefer, require, verify-ca or verify-full");
}

static int check_ports(struct conninfo *conninfo, struct text raw, enum spelling spelling)
{
    char ports[256];

    decode(ports, sizeof ports, raw, spelling);
    return is_port_list(ports) ? 0 : refuse(conninfo, "a port must be from 1 to %s", "65535");
}

static int keep_parameter(struct conninfo *conninfo, const char *text, const char *name,
                          struct text raw, enum spelling spelling)
{
    const struct parameter *parameter = find_parameter(name);

    if (spelling == SPELLING_URI && strcmp(name, "ssl") == 0)
        return check_ssl(conninfo, raw);
    if (strcmp(name, parameter->name) != 0)
        return refuse_name(conninfo, parameter);
    if (parameter->secret)
        return add_secret(conninfo, text, raw);
    if (strcmp(name, "port") == 0)
        return check_ports(conninfo, raw, spelling);
    if (strcmp(name, "sslmode") == 0)
        return check_sslmode(conninfo, raw, spelling);
    return 0;
}

static const char *skip_spaces(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* Ends before the space, the closing quote or the end. */
static const char *skip_word(const char *at, bool quoted)
{
    while (*at != '\0' && (quoted ? *at != '\'' : !isspace((unsigned char)*at)))
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    return at;
}

static const char *parse_word(struct conninfo *conninfo, const char *text, const char *at)
{
    char name[NAME_BYTES_MAX];
    size_t len = 0;
    const char *end;
    bool quoted;

    while (at[len] != '\0' && at[len] != '=' && !isspace((unsigned char)at[len]))
        len++;
    (void)snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), at);
    at = skip_spaces(at + len);
    if (len == 0 || *at != '=')
        return NULL;
    at = skip_spaces(at + 1);
    quoted = *at == '\'';
    at += quoted;
    end = skip_word(at, quoted);
    if (quoted && *end != '\'')
        return NULL;
    if (keep_parameter(conninfo, text, name, (struct text){at, (size_t)(end - at)},
                       SPELLING_WORDS) < 0)
        return NULL;
    return skip_spaces(end + quoted);
}

static int parse_words(struct conninfo *conninfo, const char *text)
{
    const char *at = skip_spaces(text);

    while (at != NULL && *at != '\0')
        at = parse_word(conninfo, text, at);
    return at == NULL ? -1 : 0;
}

static const char *parse_user(struct conninfo *conninfo, const char *text, const char *at)
{
    size_t len = strcspn(at, "@/");
    const char *colon = memchr(at, ':', len);

    if (at[len] != '@')
        return at;
    if (colon != NULL &&
        add_secret(conninfo, text, (struct text){colon + 1, (size_t)(at + len - colon - 1)}) < 0)
        return NULL;
    return at + len + 1;
}

static size_t host_len(const char *host)
{
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;

    return bracket != NULL ? (size_t)(bracket - host) + 1 : strcspn(host, ":,/?");
}

/* "one:5432,[::1]:5433"; NULL: a port that cannot be. */
static const char *parse_hosts(struct conninfo *conninfo, const char *at)
{
    for (;;) {
        at += host_len(at);
        if (*at == ':' &&
            check_ports(conninfo, (struct text){at + 1, strcspn(at + 1, ",/?")}, SPELLING_URI) < 0)
            return NULL;
        at += strcspn(at, ",/?");
        if (*at != ',')
            return at;
        at++;
    }
}

static int parse_parameters(struct conninfo *conninfo, const char *text, const char *at)
{
    while (*at != '\0') {
        size_t len = strcspn(at, "&");
        const char *equals = memchr(at, '=', len);
        char name[NAME_BYTES_MAX];

        if (equals == NULL)
            return -1;
        decode(name, sizeof name, (struct text){at, (size_t)(equals - at)}, SPELLING_URI);
        if (keep_parameter(conninfo, text, name,
                           (struct text){equals + 1, (size_t)(at + len - equals - 1)},
                           SPELLING_URI) < 0)
            return -1;
        at += len + (at[len] == '&');
    }
    return 0;
}

/* To libpq the first "@" or "/" ends the user and password: where an "@" follows, a password was
 * cut in two, and its second half would stand in the open. */
static bool has_stray_at(const char *at)
{
    size_t len = strcspn(at, "@/");

    return at[len] != '\0' && strchr(at + len + 1, '@') != NULL;
}

static int parse_uri(struct conninfo *conninfo, const char *text, const char *at)
{
    if (has_stray_at(at))
        return refuse(conninfo, "an \"@\" that separates nothing; %s",
                      "percent-encode /, ? and @ in the password (%2F, %3F, %40)");
    at = parse_user(conninfo, text, at);
    if (at != NULL)
        at = parse_hosts(conninfo, at);
    if (at == NULL)
        return -1;
    at += strcspn(at, "?");
    return *at == '?' ? parse_parameters(conninfo, text, at + 1) : 0;
}

static int parse(struct conninfo *conninfo, const char *text)
{
    static const char *const schemes[] = {"postgresql://", "postgres://"};

    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return parse_uri(conninfo, text, text + strlen(schemes[i]));
    return parse_words(conninfo, text);
}

int conninfo_parse(struct conninfo *conninfo, const char *text)
{
    *conninfo = (struct conninfo){0};
    if (parse(conninfo, text) == 0)
        return 0;
    if (conninfo->problem[0] == '\0')
        (void)refuse(conninfo, "not a connection string; use %s",
                     "\"postgresql://USER@HOST/DATABASE\" or \"host=HOST dbname=DATABASE\"");
    return -1;
}

char *conninfo_mask(const char *text)
{
    struct conninfo conninfo;
    size_t size = strlen(text) + CONNINFO_SECRETS_MAX * strlen(MASK) + 1;
    char *masked = malloc(size);
    size_t used = 0;
    size_t at = 0;

    if (masked == NULL)
        return NULL;
    if (conninfo_parse(&conninfo, text) < 0) {
        (void)snprintf(masked, size, MASK);
        return masked;
    }
    for (int i = 0; i < conninfo.secret_count; i++) {
        size_t kept = conninfo.secrets[i].start - at;

        memcpy(masked + used, text + at, kept);
        memcpy(masked + used + kept, MASK, strlen(MASK));
        used += kept + strlen(MASK);
        at = conninfo.secrets[i].start + conninfo.secrets[i].len;
    }
    memcpy(masked + used, text + at, strlen(text + at) + 1);
    return masked;
}
