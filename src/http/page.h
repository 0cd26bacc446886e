#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "http/history.h"
#include "http/sampler.h"
#include "relay/report.h"

#include <stdio.h>

#define PAGE_NONCE_BYTES 33

/* Writes the status page: config/status-page.html with its parts filled in. Texts of the database
 * and of brokers are escaped. Only the style and script with this `nonce` pass the page's
 * policy. */
void page_put(FILE *out, const char *nonce, const struct relay_options *options,
              const struct relay_report *report, const struct sample *sample,
              const struct history *history);

/* Appends the text with HTML's special characters as entities; control characters
 * and bytes that are not UTF-8 become U+FFFD. */
void page_put_text(FILE *out, const char *text);

#endif
