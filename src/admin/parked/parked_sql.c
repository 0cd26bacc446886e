#include "admin/parked/parked_sql.h"

#include "admin/admin_session.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

PGresult *parked_query_since(struct admin *admin, const char *statement, const char *since,
                             struct error *error)
{
    int64_t ago_ms = since != NULL ? text_parse_duration_ms(since) : -1;
    char ago[32];
    const char *params[2] = {ago_ms >= 0 ? ago : NULL, ago_ms >= 0 ? NULL : since};
    PGresult *result;

    (void)snprintf(ago, sizeof ago, "%" PRId64, ago_ms);
    result = admin_query(admin, statement, 2, params, error);
    if (result == NULL && since != NULL && error_is_sqlstate(error, "22"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "--since: not a duration or a timestamp: %s", since);
    return result;
}
