#ifndef SOURCE_JSON_H
#define SOURCE_JSON_H

#include <jansson.h>
#include <stdint.h>

/* JSON, for status and for what a process says of itself. The caller owns what is returned. NULL:
 * no memory. */

/* The document of status (status.h) without what is for the program alone, as one line in ASCII,
 * for the caller to free(). */
char *status_dump(const json_t *document);

/* Texts of servers and of other relays need not be UTF-8. */
json_t *pack_text(const char *text);
json_t *text_or_null(const char *text); /* null: "" */
json_t *number_or_null(double value);   /* null: below 0 */
json_t *pack_time(int64_t unix_ms);     /* null: 0 */

#endif
