#ifndef CATALOG_PARTITIONS_H
#define CATALOG_PARTITIONS_H

#include "pg/session.h"

#include <stdbool.h>

/* Logs what note_partitions.sql says. Returns whether there may be more to note. */
bool partitions_say(const PGresult *notes);

#endif
