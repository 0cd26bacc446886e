#ifndef CATALOG_ADOPTION_H
#define CATALOG_ADOPTION_H

#include "catalog/table.h"

/*
 * Decides whether the relay may send the rows of the outbox, and by which condition. Nothing is
 * claimed or purged before that is decided.
 */

#define ADOPTION_COUNT_MAX 100000 /* rows are counted up to this number */

enum adoption_state {
    ADOPTION_SETTLED,  /* the relay's own table, or a table adopted with this condition */
    ADOPTION_NO_ROWS,  /* nothing to send: later rows are meant for the relay */
    ADOPTION_OPEN,     /* there are rows that the operator has to confirm */
    ADOPTION_CONDITION /* the table was adopted with another condition or order */
};

struct adoption {
    enum adoption_state state;
    bool noted;             /* the control table has a condition */
    char note[4096];        /* that condition */
    char wanted[4096];      /* the one that this configuration would write */
    char order[192];        /* the order in the control table; "": none */
    char wanted_order[192]; /* that of this configuration */
    int64_t to_send;        /* unsent rows, for ADOPTION_OPEN; -1: counting took too long */
    char marks[384];        /* columns that may mark rows as sent; "": none */
};

/* Fills *adoption without writing anything. The outbox and its required columns must exist. Returns
 * 0, or -1 with *error set. */
int adoption_examine(struct adoption *adoption, const struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error);

/* Reads the condition only and no row of the outbox; the state is ADOPTION_SETTLED or
 * ADOPTION_CONDITION. */
int adoption_read_note(struct adoption *adoption, const struct table *table,
                       struct session *session, const struct outbox_options *options,
                       struct error *error);

/* Sets *error to why the relay refuses to start, and what to do; for ADOPTION_OPEN and
 * ADOPTION_CONDITION. Returns -1. */
int adoption_explain(const struct adoption *adoption, const struct table *table,
                     const struct outbox_options *options, struct error *error);

/* Decides, and writes the condition. Returns 0 when the relay may send and purge; -1 with *error
 * set when it may not, or when the database could not be asked. */
int adoption_settle(struct adoption *adoption, const struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error);

#endif
