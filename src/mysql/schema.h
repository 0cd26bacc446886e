#ifndef MYSQL_SCHEMA_H
#define MYSQL_SCHEMA_H

#include "mysql/tables.h"

/* The SQL that makes the relay's tables, and the outbox where there is none; free() it. NULL: no
 * memory. */
char *schema_text(const struct tables *tables);

#endif
