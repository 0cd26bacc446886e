#ifndef CATALOG_TABLE_H
#define CATALOG_TABLE_H

#include "pg/session.h"
#include "source/options.h"

/*
 * The description of the outbox table and of the relay's own tables, from the catalog. libpq quotes
 * the names here, once; no other code puts an unquoted name into SQL.
 */

#define ALL_COLUMNS_BYTES_MAX 8192
#define LISTED_BYTES_MAX 4096
#define QUOTED_BYTES_MAX 136 /* two quotes, 63 bytes that may all be doubled, and a NUL */

struct table_column {
    char name[OUTBOX_NAME_BYTES];  /* as the catalog has it; "": an expression, or none */
    const char *expression;        /* as configured, in parentheses; NULL: it is a column */
    char quoted[QUOTED_BYTES_MAX]; /* of an expression its beginning, for messages */
    char type[128];                /* format_type(); "" when the table has no such column */
    char base[128]; /* the same, for a domain its base type, in whose format values are sent */
    bool unique;    /* there is a unique index on this column alone */
    bool not_null;
    bool immutable; /* the conversion to text depends on no setting, so it can be indexed */
    bool has_default;
    char category;  /* pg_type.typcategory */
    bool is_relays; /* its comment says that only the relay writes it */
    char offer[64]; /* a column that may be meant when the table has no such column; "": none */
};

struct table {
    char schema[OUTBOX_NAME_BYTES]; /* unquoted */
    char name[OUTBOX_NAME_BYTES];
    char stem[OUTBOX_NAME_BYTES]; /* what the names of the relay's tables beside it begin with */
    char schema_quoted[QUOTED_BYTES_MAX];
    char quoted[2 * QUOTED_BYTES_MAX];          /* "schema"."table" */
    char parked_quoted[2 * QUOTED_BYTES_MAX];   /* "schema"."stem_parked" */
    char slice_quoted[2 * QUOTED_BYTES_MAX];    /* "schema"."stem_slice" */
    char control_quoted[2 * QUOTED_BYTES_MAX];  /* "schema"."stem_control" */
    char progress_quoted[2 * QUOTED_BYTES_MAX]; /* "schema"."stem_progress" */
    char claim_index_quoted[QUOTED_BYTES_MAX];  /* the name that init gives the claim's index */
    char notify_quoted[QUOTED_BYTES_MAX];       /* the trigger that init --notify adds */
    /* What init --order-trigger adds (order_trigger.h), as the tables: */
    char order_quoted[2 * QUOTED_BYTES_MAX];          /* "stem_order", the trigger's function */
    char order_bucket_quoted[2 * QUOTED_BYTES_MAX];   /* "stem_bucket" */
    char order_gate_quoted[2 * QUOTED_BYTES_MAX];     /* "stem_gate" */
    char order_kept_quoted[2 * QUOTED_BYTES_MAX];     /* "stem_order_kept" */
    char order_sequence_quoted[2 * QUOTED_BYTES_MAX]; /* "stem_order_seq" */
    bool lacks_schema;
    /* "schema.table", written as for the configuration, when this one is not there, but another
     * that differs in capitals or underscores, or only the schema does; "": none. */
    char spelt[2 * QUOTED_BYTES_MAX];
    char elsewhere[2 * QUOTED_BYTES_MAX]; /* the same for a table of this name in another schema */
    uint32_t oid;                         /* 0: it does not exist */
    bool exists;
    bool numbered; /* see outbox_is_numbered() */
    bool is_own;   /* `init` created it, and says so in a comment */
    bool parked_exists;
    char parked_id_type[sizeof((struct table_column *)NULL)->base]; /* "": no such table, or column
                                                                     */
    char parked_lacks[112]; /* the relay's own columns that the parked table lacks; "": none */
    bool control_exists;
    int schema_number;   /* the one that the control table has (schema.h); 0: none */
    bool may_number;     /* this role may note it, and no other comment stands there */
    bool name_is_column; /* the parked table has a column of the outbox's name */
    bool slice_exists;   /* the slice table exists; set with order = "key" only */
    bool slice_readable; /* this role has SELECT on it; set with order = "key" only */
    int slices;          /* the number of slices; 0: the rows of the slice table are inconsistent */
    bool progress_exists; /* and this role may use it; set with on_sent = "position" only */
    char kind;            /* pg_class.relkind */
    bool has_children;    /* partitions or inheriting tables */
    bool is_partitioned;  /* by ranges of the id, into plain tables; on_sent = "position" only */
    char partitioned_by[OUTBOX_NAME_BYTES]; /* the column of such ranges; "": there is none */
    int64_t partition_rows; /* how many ids a partition that `init` makes has; 0: it makes none */
    char shape[128];        /* when it was described, by shape.sql */
    bool has_triggers;      /* the application's triggers or rules run when a row is settled */
    bool has_claim_index;   /* there is a valid index for claims in the configured order */
    const char *where;      /* [outbox] where, as configured; NULL: none */
    const char *mark;       /* [outbox] mark; NULL: sent_at = clock_timestamp() */
    const char *park;       /* [outbox] park; NULL: parked rows leave the table */
    char sql_problem[640];  /* why SQL of the configuration cannot be used; "": it can */
    char preset_lacks[400]; /* "a, b": columns of the preset's table, when the table does not fit
                               because of them; "": none */
    char key_columns[ALL_COLUMNS_BYTES_MAX]; /* of the key's expression: "a = DEFAULT, b = DEFAULT"
                                              */
    char where_clock[200]; /* "calls FUNCTION", which reads the clock; "": `where` uses none */
    char called[512];      /* the functions that this SQL calls and that are not PostgreSQL's own */
    struct table_column columns[COLUMN_COUNT];
    struct table_column headers[OUTBOX_HEADERS_MAX]; /* the values of [outbox.headers] */
    const struct outbox_header *header_names;        /* as configured */
    int header_count;
    bool is_computed; /* some value is an expression, or there are [outbox.headers], due or park */
    char all_columns[ALL_COLUMNS_BYTES_MAX];  /* all that the table has, quoted: "a, b, ..." */
    char listed_columns[LISTED_BYTES_MAX];    /* those that mark and park name: ", a, b" */
    char read_columns[ALL_COLUMNS_BYTES_MAX]; /* those that expressions read */
    bool reads_rows; /* an expression reads whole rows, or more columns than have room there */
    unsigned char json_columns[200]; /* a bit for each of these that is json or jsonb; 1,600 is
                                        PostgreSQL's limit */
};

/* What init --order-trigger adds: the trigger, not qualified, and the end of its sequence's name.
 */
#define ORDER_TRIGGER "zzz_outbox_relay_order"
#define ORDER_SEQUENCE_SUFFIX "_order_seq"

/* The numbers of rows that are there when a table gets them are lower than this one, which is
 * taken from those that the sequence gives. */
#define FIRST_NUMBER 1000000000000

/* The triggers that keep the place of a row, and its transaction, with on_sent = "position"; not
 * qualified. */
#define POSITION_TRIGGER "outbox_relay_position"
#define XID_TRIGGER "outbox_relay_xid"

void table_quote(const struct session *session, const char *name, char out[QUOTED_BYTES_MAX]);

/* Sets *error: the relay's own table of this name is not the relay's. Returns -1. */
int table_refuse_other(const char *quoted, struct error *error);

bool table_has(const struct table *table, enum column column);

/* The value in SQL, over a row of the table. */
const char *column_sql(const struct table_column *column);

/* Whether sent_at alone says which rows are sent. */
bool table_is_marked_by_time(const struct table *table);

/* The comment of a column by which the owner of a table that `init` did not create says that no
 * application, and no other program, writes it. */
#define ONLY_RELAY_WRITES "outbox-relay: only the relay writes this column"

/* 0 when sent_at is evidence that this relay has sent a row: only the relay writes the column. Else
 * -1 with *error set: such rows may be the application's, so they are neither purged nor sent
 * again. */
int table_check_sent(const struct table *table, struct error *error);

bool table_knows_sent(const struct table *table);

bool column_is_integer(const struct table_column *column);

/* Whether the ids are integers, which the horizon needs (horizon.h). */
bool table_has_integer_ids(const struct table *table);

/* Whether payloads are valid JSON by their type. */
bool table_payload_is_json(const struct table *table);

/* Whether there is an index by which the parked rows of a key are found: not when the outbox has no
 * key column, or its text cannot be indexed. */
bool table_key_is_indexed(const struct table *table);

/* The key of [outbox.columns] that names this column. */
const char *table_key(const struct table *table, enum column column);

/* Whether the relay requires this column. */
bool table_needs(const struct outbox_options *options, enum column column);

bool table_has_needed(const struct table *table, const struct outbox_options *options);

/* Sets *error: the table does not exist, and what to do. Returns -1. */
int table_refuse_missing(const struct table *table, struct error *error);

/* 0, or -1 with *error set: the preset is for another table. */
int table_fits_preset(const struct table *table, const struct outbox_options *options,
                      struct error *error);

/* Completes the error of a lock on these tables that was waited for in vain (holders.h). */
void table_name_holders(const struct table *table, struct session *session, struct error *error);

/* Returns 0, or -1 with *error set for a view, a foreign, partitioned or inherited table. The table
 * must exist. */
int table_plain(const struct table *table, struct error *error);

/* The column's type in the table, or the one that `init` gives it. */
const char *table_type(const struct table *table, enum column column);

#endif
