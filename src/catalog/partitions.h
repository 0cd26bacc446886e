#ifndef CATALOG_PARTITIONS_H
#define CATALOG_PARTITIONS_H

#include "pg/session.h"

#include <stdbool.h>

#define PARTITIONS_FEW 2 /* that are ahead: fewer are soon not enough */

/* Logs what note_partitions.sql says. Returns whether there may be more to note. */
bool partitions_say(const PGresult *notes);

#endif
