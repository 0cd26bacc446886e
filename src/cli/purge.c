#include "cli/cli.h"

#include "admin/admin.h"

#include <inttypes.h>
#include <stdio.h>

enum exit_status cli_purge(const struct arguments *arguments, struct config *config)
{
    const struct outbox_options *options = &config->relay.outbox;
    int64_t age_ms =
        arguments->older_than_ms >= 0 ? arguments->older_than_ms : options->retention_ms;
    struct error error;
    struct admin *admin;
    int64_t purged;

    if (arguments->older_than_ms < 0 && options->retention_ms == 0) {
        (void)fprintf(stderr,
                      "outbox-relay: retention is \"0\", so rows are kept; give --older-than\n");
        return EXIT_USAGE;
    }
    admin = arguments->dry_run ? admin_open(options, &error) : admin_open_to_write(options, &error);
    purged = admin != NULL ? admin_purge(admin, age_ms, arguments->dry_run, &error) : -1;
    admin_close(admin);
    if (purged < 0)
        return cli_fail(&error);
    (void)printf("%s %" PRId64 "\n", arguments->dry_run ? "would purge" : "purged", purged);
    return EXIT_DONE;
}
