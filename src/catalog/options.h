#ifndef CATALOG_OPTIONS_H
#define CATALOG_OPTIONS_H

#include "pg/session_options.h"

#include <stdbool.h>
#include <stdint.h>

/* The columns of an outbox table by what they mean, whatever the table calls them. */
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

/* What a claim transaction may take beside the publish: PostgreSQL ends one that idles longer. */
#define OUTBOX_SLACK_MS 5000

struct outbox_options {
    char *url; /* libpq conninfo; owned, as every string here */
    char *password_file;
    bool allow_superuser;
    bool allow_plaintext;
    char *table; /* "table" or "schema.table", literal names */
    enum preset preset;
    char *columns[COLUMN_COUNT]; /* NULL: what the preset says */
    char *where; /* an SQL condition: other rows are not the relay's; NULL: all are */
    bool adopt;  /* the rows of a table that the relay did not create are meant for it */
    enum on_sent on_sent;
    enum order order;
    int slices;
    bool durable_before_publish;
    int64_t retention_ms; /* 0: for ever */
    int batch;            /* rows a claim */
    int64_t batch_bytes;
    bool synchronous_commit;
    int64_t publish_timeout_ms; /* bounds the claim transaction */
};

/* The column's name in the table: mapped, or the preset's; NULL: the preset has no such column. */
const char *outbox_column(const struct outbox_options *options, enum column column);

/* How a session for these options connects; its strings are theirs. */
struct session_options outbox_session_options(const struct outbox_options *options);

/* NULL, or why this cannot be the name of a table ("table" or "schema.table") or of a column. */
const char *outbox_table_name_problem(const char *name);
const char *outbox_column_name_problem(const char *name);

#endif
