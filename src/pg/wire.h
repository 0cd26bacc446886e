#ifndef PG_WIRE_H
#define PG_WIRE_H

#include "base/text.h"

#include <stdint.h>

/* Decodes values in PostgreSQL's wire formats. */

/* Big-endian integers of the binary protocol. */
int32_t wire_int4(const char *wire);
int64_t wire_int8(const char *wire);

/* An integer in text format. The text must be PostgreSQL's own output: it is not checked. */
int64_t wire_integer(struct text text);

#endif
