#include "cli/cli.h"

#include "source/admin.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>

enum exit_status cli_purge(const struct arguments *arguments, struct config *config)
{
    const struct outbox_options *options = &config->relay.outbox;
    int64_t age_ms =
        arguments->older_than_ms >= 0 ? arguments->older_than_ms : options->retention_ms;
    struct error error;
    struct purge purge = {.age_ms = age_ms};
    struct admin *admin;
    int status = -1;

    if (arguments->older_than_ms < 0 && options->retention_ms == 0) {
        cli_say("retention is \"0\", so rows are kept; give --older-than");
        return EXIT_USAGE;
    }
    admin = arguments->dry_run ? admin_open(options, &error) : admin_open_to_write(options, &error);
    if (admin != NULL && arguments->dry_run) {
        purge.purged = admin_count_purgeable(admin, &purge.age_ms, &error);
        status = purge.purged < 0 ? -1 : 0;
    } else if (admin != NULL) {
        status = admin_purge(admin, age_ms, 0, NULL, NULL, &purge, &error);
    }
    if (status == 0 && options->on_sent != ON_SENT_DELETE && admin_check_sent(admin, &error) < 0)
        cli_say("warning: %s\n  fix: %s", error.text, error.hint);
    if (status == 0 && purge.age_ms > age_ms)
        cli_say("warning: what was sent since a broker may have lost events is kept until"
                " an audit has looked, and a day longer where events are missing\n"
                "  fix: %s status",
                source_program);
    admin_close(admin);
    if (status < 0)
        return cli_fail(&error);
    (void)printf("%s %" PRId64 "\n", arguments->dry_run ? "would purge" : "purged", purge.purged);
    if (purge.refused == 0)
        return EXIT_DONE;
    (void)error_set(&error, ERROR_PERMANENT, ERROR_DATABASE,
                    "%s refuses to delete %" PRId64 " sent rows, the first is row %s: %s",
                    source_database, purge.refused, purge.row, purge.why);
    (void)error_hint(&error, "%s", purge.fix);
    return cli_fail(&error);
}
