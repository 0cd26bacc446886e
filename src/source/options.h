#ifndef SOURCE_OPTIONS_H
#define SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The values of an outbox row by their meaning. Each is a column of the table, under any name, or
 * an SQL expression over the row. */
enum column {
    COLUMN_ID,
    COLUMN_EVENT_ID,
    COLUMN_TOPIC,
    COLUMN_KEY,
    COLUMN_TYPE,
    COLUMN_PAYLOAD,
    COLUMN_HEADERS,
    COLUMN_CREATED_AT,
    COLUMN_SENT_AT,
    COLUMN_DUE,   /* [outbox] due: the row is not sent before this time */
    COLUMN_XID,   /* with on_sent = "position": the transaction that has inserted the row */
    COLUMN_ORDER, /* only in the configuration: see outbox_is_numbered() */
    COLUMN_COUNT
};

/* "id", "event_id", ...: the key in the configuration, and the name in the default table. */
const char *column_name(enum column column);

/* [outbox.headers]: a header, and its value as in [outbox.columns]. One of [cloudevents.attributes]
 * is the header "ce_NAME", which a row may give in the same way. */
struct outbox_header {
    char *name;
    char *value;
    bool is_attribute;
};

#define ATTRIBUTE_PREFIX "ce_"
#define ATTRIBUTE_PREFIX_BYTES 3

/* The name in the configuration, and its section. */
const char *outbox_header_name(const struct outbox_header *header);
const char *outbox_header_section(const struct outbox_header *header);

#define OUTBOX_HEADERS_MAX 32

enum on_sent { ON_SENT_MARK, ON_SENT_DELETE, ON_SENT_POSITION };
enum order { ORDER_KEY, ORDER_NONE };

/* How long a claim transaction may idle in addition to publish_timeout: see idle_ms. */
#define OUTBOX_SLACK_MS 5000

struct outbox_options {
    char *url; /* conninfo.h; owned, as every string here */
    char *password_file;
    bool allow_superuser;
    bool allow_plaintext;
    char *table;                 /* "table" or "schema.table", as outbox_read_table() reads it */
    char *preset;                /* the name of a file of config/presets/, or "default" */
    char *preset_columns;        /* those of the preset's table, "a, b"; NULL: it is the default */
    char *columns[COLUMN_COUNT]; /* a name, or an expression in parentheses; "": none; NULL: the
                                    default table's name */
    struct outbox_header headers[OUTBOX_HEADERS_MAX];
    int header_count;
    char *time_zone; /* of timestamps without one; NULL: UTC, which nobody has confirmed */
    char *where;     /* an SQL condition: only these rows are sent; NULL: all rows */
    bool adopt;      /* the operator confirms a table that the relay did not create (adoption.h) */
    enum on_sent on_sent;
    char *mark; /* the SET list that marks a row as sent; NULL: sent_at = clock_timestamp() */
    char *park; /* the SET list that takes a parked row out of `where`; NULL: it leaves the table */
    enum order order;
    int slices;
    bool durable_before_publish;
    int64_t retention_ms; /* 0: sent rows are kept forever */
    int batch;            /* maximum number of rows of a claim */
    int64_t batch_bytes;
    bool synchronous_commit;
    int64_t publish_timeout_ms; /* limits the claim transaction */
};

/* "mark", "delete" or "position". */
const char *outbox_on_sent(const struct outbox_options *options);
/* Whether sent rows stay in the table. */
bool outbox_keeps_sent(const struct outbox_options *options);

/* [outbox.columns] order: the table's ids do not grow, so rows have a number beside their id, which
 * is NULL until one is drawn. The number is COLUMN_ID to the relay; people know the row by its
 * event id, which is the id unless another one is configured. */
bool outbox_is_numbered(const struct outbox_options *options);

/* The column's name in the table, or the expression, as configured or in the default table;
 * NULL: none. */
const char *outbox_column(const struct outbox_options *options, enum column column);

/* Whether the configured value is an expression, and no name. */
bool outbox_is_expression(const char *value);

#define OUTBOX_NAME_BYTES 64 /* NAMEDATALEN */

/* Names are written as the catalog has them, or in double quotes as in SQL, where two double quotes
 * are one. "table" or "schema.table" is read into both, with "" for no schema. Return NULL, or why
 * this is no such name, which stands behind the name in a message. */
const char *outbox_read_table(const char *written, char schema[OUTBOX_NAME_BYTES],
                              char table[OUTBOX_NAME_BYTES]);
const char *outbox_read_column(const char *written, char column[OUTBOX_NAME_BYTES]);

/* The quotes between which TOML takes a name that is written so, for messages. */
const char *outbox_toml_quotes(const char *written);

/* Returns NULL, or why this is neither the name of a column nor an expression nor "". */
const char *outbox_value_problem(const char *value);

#endif
