#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "catalog/memory.h"
#include "source/admin.h"

#include <stdio.h>

/* What only the program for PostgreSQL does. */

/* Creates the missing tables, provided that an existing outbox table is usable, and adds to the
 * relay's own tables what takes no time. 0, or -1: failed, or an existing table lacks something
 * else. *missing is then the SQL that adds it, or NULL. *executed is the SQL by which the relay's
 * own tables were changed, a statement a line, or NULL. The caller frees both. */
int admin_init(struct admin *admin, char **executed, char **missing, struct error *error);
/* "schema.table": a table of the outbox's name in another schema, when the outbox does not exist.
 * "": there is none. */
const char *admin_table_elsewhere(const struct admin *admin);
/* Whether `run` would accept the rows that are already in the table (adoption.h), which must be
 * complete. Only reads. 0: it would. 1: it would not, and *error says why. -1: the check failed. */
int admin_foresee_adoption(struct admin *admin, struct error *error);
/* Whether `run` would accept this role: 0, or -1 and *error says why not. */
int admin_foresee_role(struct admin *admin, struct error *error);
/* The SQL of a complete set-up, or of what the existing tables lack, which the caller frees. NULL
 * with *error set on failure. */
char *admin_schema_sql(struct admin *admin, struct error *error);
/* From here on admin_init() and admin_schema_sql() make a new outbox with the trigger that keeps
 * the order of each key, and admin_grant_sql() knows its sequence. 0, or -1 with *error set:
 * order.c. */
int admin_order(struct admin *admin, struct error *error);
/* From here on admin_init() and admin_schema_sql() make a new outbox with partitions of so many
 * ids, or note this number for one that has partitions. 0, or -1 with *error set. */
int admin_partition(struct admin *admin, int64_t rows, struct error *error);
bool admin_has_table(const struct admin *admin);
/* What an outbox that exists lacks for this, as SQL that the caller frees; "": nothing. NULL with
 * *error set, also when no trigger can keep its order. */
char *admin_order_sql(struct admin *admin, struct error *error);
/* The GRANT without which a role that inserts cannot draw the ids. */
void admin_order_grant(const struct admin *admin, char *sql, size_t size);
/* Adds the trigger by which inserts wake idle relays. 0 or -1. */
int admin_init_notify(struct admin *admin, struct error *error);
/* The SQL that adds it, which the caller frees. NULL: out of memory. */
char *admin_notify_sql(struct admin *admin);
/* The SQL of triggers that write the rows of another table into the outbox, and mark them there
 * when they are sent; `will_be_ordered`: the outbox is to get the order trigger. The caller frees
 * it. NULL with *error set on failure. */
char *admin_feed_sql(struct admin *admin, const char *table, bool will_be_ordered,
                     struct error *error);
/* The grants that a role needs, as SQL, which the caller frees. NULL with *error set on failure. */
char *admin_grant_sql(struct admin *admin, const char *role, struct error *error);

/* Adds an error for each column of the outbox that is missing or has an unsuitable type. */
void admin_inspect_columns(struct admin *admin, struct findings *findings);

/* The sent rows that `audit` is about; NULL for any. */
struct audit_request {
    const char *since;     /* earliest sent_at: a timestamp, or a duration before now */
    const char *from, *to; /* ids, both inclusive */
    int64_t payload_max;   /* larger payloads are not fetched */
};

#define SENT_WITHIN_S 60

/* What the table says of a sent row. */
struct sent_row {
    int64_t rank;    /* grows in the order of the ids; INT64_MIN: not known */
    int64_t sent_ms; /* with on_sent = "position" it was sent up to SENT_WITHIN_S earlier */
};

struct sent_reader {
    /* Is called with rows as a claim would fill them, and sent[i] of message i. A message whose
     * payload is larger than payload_max has none. 0, or -1 with *error set. */
    int (*on_rows)(void *closure, struct batch *batch, const struct sent_row *sent,
                   struct error *error);
    /* For admin_read_known(). */
    int (*on_known)(void *closure, struct text event_id, struct error *error);
    void *closure;
};

/* What was read. */
struct sent_rows {
    int64_t since_ms;   /* of the request; 0: any */
    int64_t first_ms;   /* the earliest sent_at; INT64_MAX: there is none */
    int64_t unreadable; /* rows that PostgreSQL cannot read or compute now, and are left out */
    char why[512];      /* of the first of them */
};

/* Reads the sent rows of the outbox and of the parked table, a page in a transaction. 0, or -1 with
 * *error set. */
int admin_read_sent(struct admin *admin, const struct routes *routes,
                    const struct audit_request *request, const struct sent_reader *reader,
                    struct sent_rows *rows, struct error *error);
/* Reads the event ids of all rows, whatever their state. *first_ms: the earliest sent_at, or
 * INT64_MAX. 0, or -1 with *error set. */
int admin_read_known(struct admin *admin, const struct sent_reader *reader, int64_t *first_ms,
                     struct error *error);

/* The database's clock, in ms since 1970; -1 with *error set. */
int64_t admin_clock_ms(struct admin *admin, struct error *error);
/* What to do where no such sink is configured. */
void admin_hint_losses(const struct admin *admin, const char *sink, struct error *error);
/* What relays had noticed as a loss before this audit needs nobody's attention any more. 0, or -1.
 */
int admin_forget_losses(struct admin *admin, const struct memory_audit *audit, struct error *error);

#endif
