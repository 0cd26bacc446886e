#ifndef CONFIG_CHECK_CHECK_H
#define CONFIG_CHECK_CHECK_H

#include "config/keys/loader.h"

/* What no single key can tell. Each reports what it finds. */

void check_config(const struct loader *loader);
void check_sink(const struct loader *loader, int sink);
/* Secrets that are written in a file which others can read. */
void check_secrets(const struct loader *loader);

#endif
