#ifndef ADMIN_PARKED_PARKED_H
#define ADMIN_PARKED_PARKED_H

#include "admin/admin.h"
#include "admin/parked/parked_request.h"
#include "base/text.h"

/*
 * An operator's requests about parked rows: rows that wait for another attempt, and dead rows. Rows
 * that have been sent are neither shown nor changed.
 */

struct parked_value {
    const char *name;
    struct text value; /* data == NULL: SQL NULL */
};

/* Called for each row after its change has been committed. With `json` there is one value, a JSON
 * object. The values are valid during the call. */
struct parked_rows {
    void (*on_row)(void *closure, const struct parked_value *values, int count); /* or NULL */
    void *closure;
};

/* Returns the number of rows, or -1. A change by ids is one transaction; a change by filter is one
 * transaction for every PARKED_PAGE_ROWS rows, and the error says how many rows were changed before
 * it. */
int64_t admin_parked(struct admin *admin, const struct parked_request *request,
                     const struct parked_rows *rows, struct error *error);

#endif
