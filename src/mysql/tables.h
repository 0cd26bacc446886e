#ifndef MYSQL_TABLES_H
#define MYSQL_TABLES_H

#include "source/options.h"
#include "mysql/session.h"
#include "sql/sql.h"

/*
 * The outbox as the server describes it, the relay's own tables beside it, and the facts of both
 * for the statements in sql/.
 */

#define TABLES_SLICES_MAX 1024
#define TABLES_SLICES 64       /* without order = "key": rows are divided by their ids */
#define TABLES_META_MAX 131072 /* bytes of key, type and headers of a row */
#define TABLES_WAIT_MAX_MS INT64_C(31536000000) /* a row of a later time is looked at in a year */
#define TABLES_FACTS_MAX 64
#define TABLES_PACKET_MIN (1 << 20)      /* a server that takes no larger statements is refused */
#define TABLES_STATEMENT_BYTES (1 << 18) /* a list in a statement, beside its last item */

struct tables {
    const struct outbox_options *options;
    char schema[OUTBOX_NAME_BYTES]; /* "": the session's database */
    char name[OUTBOX_NAME_BYTES];
    int slices;
    bool exists;
    bool is_own;                 /* `init` has made it: its sent rows may be purged */
    bool has[COLUMN_COUNT];      /* the table has the column, or the configuration an expression */
    bool is_bytes[COLUMN_COUNT]; /* its values are bytes, no text */
    bool is_zoned[COLUMN_COUNT]; /* a TIMESTAMP: its values are moments */
    bool key_is_generated;       /* it has no value before a row is inserted */
    bool payload_is_json;
    bool id_is_key; /* the id is an integer, and the primary key */
    bool event_id_is_binary;
    bool key_is_bits;
    bool event_id_is_unique;
    int64_t made_at; /* when the table was made, in s since 1970; 0: not known */
    char outbox[2 * OUTBOX_NAME_BYTES + 8]; /* quoted, as messages have it */
    char *texts[TABLES_FACTS_MAX];          /* of the facts; owned */
    struct sql_fact facts[TABLES_FACTS_MAX];
    int fact_count;
    bool lacks_fact; /* for want of memory */
    struct sql_facts list;
};

/* Describes the outbox. Returns 0; -1 with *error set, also when the relay cannot use it. Without
 * an outbox tables->exists is false, and the facts are those of the default table. Call
 * tables_free() in any case. */
int tables_describe(struct tables *tables, const struct outbox_options *options,
                    struct db_session *session, struct error *error);
void tables_free(struct tables *tables);

/* The text of a fact; "NULL": there is no such fact. */
const char *tables_fact(const struct tables *tables, const char *name);

/* The statement with these facts before those of the tables; free() it. NULL: no memory. */
char *tables_statement(const struct tables *tables, const char *statement,
                       const struct sql_fact *more);

/* Runs it, as db_query() and db_execute() do. */
MYSQL_RES *tables_query(const struct tables *tables, struct db_session *session,
                        const char *statement, const struct sql_fact *more, struct error *error);
int64_t tables_execute(const struct tables *tables, struct db_session *session,
                       const char *statement, const struct sql_fact *more, struct error *error);

/* The numbers of the only row of an answer; INT64_MIN: NULL, or there is no row. Returns 0, or -1.
 */
int tables_ask(const struct tables *tables, struct db_session *session, const char *statement,
               const struct sql_fact *more, int64_t *numbers, int count, struct error *error);

/* Appends a string literal. */
void tables_put_literal(FILE *out, const char *text, size_t len);
/* The words as literals, divided by commas; free() it. NULL: no memory. */
char *tables_literals(const char *const *words, int count);

#endif
