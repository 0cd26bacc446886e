#ifndef CATALOG_SEQUENCE_H
#define CATALOG_SEQUENCE_H

#include "catalog/table.h"

/* The sequence that the ids are drawn from: that of the order trigger where there is one, else that
 * of an identity column, or of the column's default. */

struct sequence {
    char quoted[2 * QUOTED_BYTES_MAX]; /* "": the catalog knows no sequence of this column */
    uint32_t oid;
    bool readable; /* this role has SELECT on it */
    int64_t increment;
};

/* 0, or -1. The table must exist. */
int sequence_describe(struct sequence *sequence, struct session *session, const struct table *table,
                      struct error *error);

#endif
