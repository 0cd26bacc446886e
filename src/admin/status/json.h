#ifndef ADMIN_STATUS_JSON_H
#define ADMIN_STATUS_JSON_H

#include "admin/status/status.h"

#include <jansson.h>

/* The parts of status as JSON, for /status, which says more than the command. The caller owns what
 * is returned. NULL: no memory. */

/* The object of status_json(). */
json_t *status_pack(const struct status *status);
/* The object as one line in ASCII, for the caller to free(). The object is released. NULL is
 * allowed. */
char *status_dump(json_t *object);

/* Texts of servers and of other relays need not be UTF-8. */
json_t *pack_text(const char *text);
json_t *text_or_null(const char *text); /* null: "" */
json_t *number_or_null(double value);   /* null: below 0 */
json_t *count_or_null(int64_t value);   /* null: below 0 */
json_t *pack_time(int64_t unix_ms);     /* null: 0 */

#endif
