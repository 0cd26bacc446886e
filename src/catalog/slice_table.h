#ifndef CATALOG_SLICE_TABLE_H
#define CATALOG_SLICE_TABLE_H

#include "catalog/table.h"

#include <stdio.h>

/* What order = "key" needs beside the outbox: the slice table, and the index that claims go by. */

/* Fills the slice_* fields, has_claim_index and claim_index_quoted of a table that exists. */
int slices_describe(struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error);

/* 0, or -1: one of the reasons why rows cannot be claimed in the order of their keys. */
enum slices_check { SLICES_COLUMNS, SLICES_TABLE, SLICES_NUMBER, SLICES_INDEX, SLICES_CHECKS };
int slices_check(enum slices_check check, const struct table *table,
                 const struct outbox_options *options, struct error *error);

/* DROP INDEX CONCURRENTLY, a line each, of the indexes by slice that no claim goes by: the one
 * whose name a new index needs, or the others. 0 or -1. */
enum slices_drop { SLICES_IN_THE_WAY, SLICES_UNUSED };
int slices_put_drops(FILE *out, enum slices_drop which, const struct table *table,
                     struct session *session, const struct outbox_options *options,
                     struct error *error);

#endif
