#ifndef CONFIG_KEYS_KEYS_H
#define CONFIG_KEYS_KEYS_H

#include "base/text.h"
#include "config/keys/options.h"

#include <stddef.h>

/* The only table of keys. It is used for loading (value.c) and printing (print.c). What each key
 * means stands in config/relay.toml alone. */

enum section {
    SECTION_DATABASE,
    SECTION_OUTBOX,
    SECTION_COLUMNS,
    SECTION_ROW_HEADERS,
    SECTION_RELAY,
    SECTION_RETRY,
    SECTION_SINK,
    SECTION_PROPERTIES,
    SECTION_HEADERS,
    SECTION_CLOUDEVENTS,
    SECTION_ATTRIBUTES,
    SECTION_ROUTE,
    SECTION_HTTP,
    SECTION_LOG,
    SECTION_TRACE,
    SECTION_COUNT /* also stands for the top level, and for no section */
};

enum key_type {
    KEY_STRING,   /* char *; NULL: not given */
    KEY_LIST,     /* struct text_list */
    KEY_BOOLEAN,  /* bool */
    KEY_INTEGER,  /* int */
    KEY_DURATION, /* int64_t, milliseconds */
    KEY_SIZE,     /* int64_t, bytes */
    KEY_WORD,     /* an enum, in the order of `words` */
    KEY_SWITCH    /* bool, spelled as one of two `words` */
};

enum key_flags {
    KEY_SECRET = 1U << 0, /* the value is never shown */
    KEY_ZERO = 1U << 1,   /* 0 is allowed although it is below the minimum */
    KEY_KAFKA = 1U << 2,  /* this and the next two: the sink types that have the key */
    KEY_NATS = 1U << 3,
    KEY_STDOUT = 1U << 4,
    KEY_RELOAD = 1U << 5, /* SIGHUP applies it; of a string the users have copies */
    KEY_BROKERS = KEY_KAFKA | KEY_NATS,
    KEY_ANY_SINK = KEY_BROKERS | KEY_STDOUT
};

struct key {
    enum section section;
    const char *name;
    enum key_type type;
    size_t offset;            /* in struct config, struct sink_options or struct route_source */
    const char *initial;      /* the default as text; NULL: none */
    int64_t min;              /* least value of a number; least bytes of a string or list item */
    int64_t max;              /* greatest value or bytes; 0: no limit for strings */
    const char *const *words; /* NULL-terminated */
    unsigned flags;           /* enum key_flags */
};

/* A [[route]] as the file has it. */
struct route_source {
    char *match;
    char *sink;
    char *topic;
    char *key;
};

extern const struct key keys[];
extern const size_t key_count;

/* NULL: unknown. */
const struct key *key_find(enum section section, const char *name);
/* Searches all sections except sinks, headers, events, routes, columns and [trace]. NULL: none has
 * the key. */
const struct key *key_find_anywhere(const char *name);
/* The section called `name` inside `parent` (SECTION_COUNT: the top level); SECTION_COUNT: none. */
enum section section_find(enum section parent, const char *name);
/* "outbox.columns", "sink.NAME", ... */
const char *section_title(enum section section);

struct sink_type {
    const char *name;
    unsigned flag;
};
extern const struct sink_type sink_types[]; /* ends with a NULL name */
/* KEY_KAFKA, KEY_NATS, KEY_STDOUT, or 0 for an unknown type. */
unsigned sink_type_flag(const char *type);

/* `did you mean "batch"?` or `known: "lanes", "batch"`, of the keys and sections in `section`. */
char *suggest_name(char *out, size_t size, enum section section, const char *name);
/* Whether a librdkafka property ("password", "ssl.key.pem", ...) has a value that must not be
 * shown. */
bool is_secret_property(const char *name);
/* Whether the name that was looked for is probably a misspelling of the nearest one. */
bool is_likely_typo(const struct text_nearest *nearest);

#endif
