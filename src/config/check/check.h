#ifndef CONFIG_CHECK_CHECK_H
#define CONFIG_CHECK_CHECK_H

#include "config/keys/loader.h"

/* Checks that involve more than the value of one key. Each function reports the problems that it
 * finds. */

void check_config(const struct loader *loader);
void check_sink(const struct loader *loader, int sink);
/* Reports secrets in a file that others can read. */
void check_secrets(const struct loader *loader);

#endif
