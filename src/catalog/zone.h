#ifndef CATALOG_ZONE_H
#define CATALOG_ZONE_H

#include "catalog/table.h"

/* Times without a zone: the session reads them in [outbox] time_zone (pg/connect.c). Whoever wrote
 * them may have had another one. */

/* Whether the column is a timestamp without time zone, or a date. */
bool zone_is_lacking(const struct table_column *column);

struct zones {
    char all[200];  /* the zones that sessions of this database have and in which such a time is
                     * another one, "A, B"; "": none */
    char first[64]; /* one of them */
};

/* 0, or -1 with *error set. */
int zone_find_others(struct zones *zones, struct session *session, struct error *error);

#endif
