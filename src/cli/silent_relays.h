#ifndef CLI_SILENT_RELAYS_H
#define CLI_SILENT_RELAYS_H

#include "admin/admin.h"
#include "cli/cli.h"

/* Names on stderr each relay of this database that does not answer within a second: it hangs, or is
 * of a version that does not know what the command asks of relays. `consequence` says what it does
 * then, and what to do. */
void cli_warn_of_silent_relays(struct admin *admin, const struct config *config,
                               const char *consequence);

#endif
