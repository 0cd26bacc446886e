#ifndef CATALOG_ADOPTION_H
#define CATALOG_ADOPTION_H

#include "catalog/table.h"

/*
 * Whether the rows of the outbox are the relay's to send, and by which condition. Nothing is
 * claimed or purged before that is settled.
 */

#define ADOPTION_COUNT_MAX 100000 /* more rows are not counted */

enum adoption_state {
    ADOPTION_SETTLED,  /* the relay's own table, or one that is adopted with this condition */
    ADOPTION_NO_ROWS,  /* nothing to send or to purge: what comes later is meant for the relay */
    ADOPTION_OPEN,     /* rows that only the operator can know about */
    ADOPTION_CONDITION /* the relays of this table send rows by another condition */
};

struct adoption {
    enum adoption_state state;
    bool noted;       /* in the parked table */
    char note[768];   /* what stands there */
    char wanted[768]; /* what is to stand there */
    int64_t to_send;  /* of ADOPTION_OPEN; -1: counting took too long */
    int64_t to_purge; /* rows marked as sent that the retention would delete; the same */
    char marks[384];  /* columns that may say which rows have been sent; "": none */
};

/* Reads only. The outbox must exist, with the columns that are needed. 0, or -1 with *error set. */
int adoption_examine(struct adoption *adoption, const struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error);

/* The same of the note alone: no row of the outbox is read, and only ADOPTION_SETTLED and
 * ADOPTION_CONDITION come of it. */
int adoption_read_note(struct adoption *adoption, const struct table *table,
                       struct session *session, struct error *error);

/* Why the relay does not begin, and what to do; for ADOPTION_OPEN and ADOPTION_CONDITION. */
void adoption_explain(const struct adoption *adoption, const struct table *table,
                      const struct outbox_options *options, struct error *error);

/* 0: the relay may send and purge, and the parked table says by which condition;
 * -1: it may not, which *adoption says, or the database could not be asked. */
int adoption_settle(struct adoption *adoption, const struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error);

#endif
