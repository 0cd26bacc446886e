#ifndef CATALOG_EXPRESSION_H
#define CATALOG_EXPRESSION_H

#include <stdbool.h>

/* Whether PostgreSQL's pg_get_indexdef(..., pretty) shows what was written: it leaves out or adds
 * casts to text and bigint, quotes and schemas of its own. Parentheses and the rest count. */
bool expression_equal(const char *shown, const char *written);

#endif
