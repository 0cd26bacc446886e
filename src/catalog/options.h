#ifndef CATALOG_OPTIONS_H
#define CATALOG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct session_options; /* pg/connect.h */

/* The columns of an outbox table by their meaning; the table may use other names. */
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
    COLUMN_COUNT
};

/* "id", "event_id", ...: the key in [outbox.columns] and the name in the default table. */
const char *column_name(enum column column);

enum on_sent { ON_SENT_MARK, ON_SENT_DELETE };
enum order { ORDER_KEY, ORDER_NONE };
enum preset { PRESET_DEFAULT, PRESET_DEBEZIUM };

/* How long a claim transaction may idle in addition to publish_timeout: see idle_ms. */
#define OUTBOX_SLACK_MS 5000

struct outbox_options {
    char *url; /* libpq conninfo; owned, as every string here */
    char *password_file;
    bool allow_superuser;
    bool allow_plaintext;
    char *table; /* "table" or "schema.table", as outbox_read_table() reads it */
    enum preset preset;
    char *columns[COLUMN_COUNT]; /* NULL: the preset's name */
    char *time_zone; /* of timestamps without one; NULL: UTC, which nobody has confirmed */
    char *where;     /* an SQL condition: only these rows are sent; NULL: all rows */
    bool adopt;      /* the operator confirms a table that the relay did not create (adoption.h) */
    enum on_sent on_sent;
    enum order order;
    int slices;
    bool durable_before_publish;
    int64_t retention_ms; /* 0: sent rows are kept forever */
    int batch;            /* maximum number of rows of a claim */
    int64_t batch_bytes;
    bool synchronous_commit;
    int64_t publish_timeout_ms; /* limits the claim transaction */
};

/* The column's name in the table, as configured or from the preset; NULL: the preset has none. */
const char *outbox_column(const struct outbox_options *options, enum column column);

/* The session options of an outbox; the strings still belong to `options`. */
struct session_options outbox_session_options(const struct outbox_options *options);

#define OUTBOX_NAME_BYTES 64 /* NAMEDATALEN */

/* Names are written as the catalog has them, or in double quotes as in SQL, where two double quotes
 * are one. "table" or "schema.table" is read into both, with "" for no schema. Return NULL, or why
 * this is no such name, which stands behind the name in a message. */
const char *outbox_read_table(const char *written, char schema[OUTBOX_NAME_BYTES],
                              char table[OUTBOX_NAME_BYTES]);
const char *outbox_read_column(const char *written, char column[OUTBOX_NAME_BYTES]);

/* The quotes between which TOML takes a name that is written so, for messages. */
const char *outbox_toml_quotes(const char *written);

#endif
