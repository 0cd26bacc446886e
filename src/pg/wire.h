#ifndef PG_WIRE_H
#define PG_WIRE_H

#include "base/text.h"

#include <stdint.h>

/* Values as PostgreSQL sends them. */

/* Big-endian integers of the binary protocol. */
int32_t wire_int4(const char *wire);
int64_t wire_int8(const char *wire);

/* What PostgreSQL writes of a bigint, an integer or a smallint. */
int64_t wire_integer(struct text text);

#endif
