#ifndef CATALOG_SLICE_TABLE_H
#define CATALOG_SLICE_TABLE_H

#include "base/finding.h"
#include "catalog/table.h"

#include <stdio.h>

/* What order = "key" needs besides the outbox: the slice table and the claim index. */

/* Fills in the slice_* fields, progress_exists and has_claim_index of an existing table. */
int slices_describe(struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error);

/* Check the columns, the slice table, and the number of slices in it. Return 0, or -1 with *error
 * set. */
int slices_check_columns(const struct table *table, struct error *error);
int slices_check_table(const struct table *table, struct error *error);
int slices_check_number(const struct table *table, const struct outbox_options *options,
                        struct error *error);
/* Adds an error for each of them that is not met, and for a missing index. */
bool slices_fit(const struct table *table, const struct outbox_options *options);
void slices_inspect(const struct table *table, const struct outbox_options *options,
                    struct findings *findings);

/* Writes a line "DROP INDEX CONCURRENTLY ..." for each slice index that claims do not use: for the
 * one whose name a new index needs, or for the others. Returns 0, or -1 with *error set. */
enum slices_drop { SLICES_IN_THE_WAY, SLICES_UNUSED };
int slices_put_drops(FILE *out, enum slices_drop which, const struct table *table,
                     struct session *session, const struct outbox_options *options,
                     struct error *error);

#endif
