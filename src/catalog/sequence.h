#ifndef CATALOG_SEQUENCE_H
#define CATALOG_SEQUENCE_H

#include "catalog/table.h"

/* The sequence that the id column draws from: its own (an identity column) or its default's. */

struct sequence {
    char quoted[2 * QUOTED_BYTES_MAX]; /* "": the column draws from none that the catalog knows */
    uint32_t oid;
    bool readable; /* this role may SELECT it */
    bool cycles;
    int64_t cache;
    int64_t increment;
};

/* 0, or -1. The table must exist. */
int sequence_describe(struct sequence *sequence, struct session *session, const struct table *table,
                      struct error *error);

#endif
