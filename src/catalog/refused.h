#ifndef CATALOG_REFUSED_H
#define CATALOG_REFUSED_H

/*
 * A row that PostgreSQL refuses to mark, delete or park stays in the outbox. A *note*, a row of the
 * parked table with its id and key but without its payload, keeps it out of all claims, and the
 * later rows of its key wait behind the note. The note is due when the row is tried again; its
 * state says what is left to do.
 */

#define REFUSED_UNSENT "refused" /* publish the row, then settle it */
#define REFUSED_SENT "unsettled" /* only settle it: a broker has acknowledged it */

#define REFUSED_MAX 10000 /* notes; every claim reads all of them */

#endif
