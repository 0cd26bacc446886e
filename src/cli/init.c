#include "cli/cli.h"

#include "admin/admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char embedded_inbox[]; /* config/inbox.sql */

/* sql == NULL: it fails with this error; NULL: no memory. */
static enum exit_status print_and_free(char *sql, const struct error *error)
{
    if (sql == NULL)
        return error != NULL ? cli_fail(error) : EXIT_RUNTIME;
    (void)fputs(sql, stdout);
    free(sql);
    return EXIT_DONE;
}

/* Warns when `run` would refuse to start because of this role, or of existing rows; this is no
 * reason not to create the tables. The decision about rows is left to `run`, which records it. */
static enum exit_status warn_of_run(struct admin *admin)
{
    struct error error;
    int keeps;

    if (admin_foresee_role(admin, &error) < 0) {
        if (error.kind != ERROR_PERMANENT)
            return cli_fail(&error);
        (void)fprintf(stderr, "outbox-relay: warning: run will refuse to start: %s\n  %s\n",
                      error.text, error.hint);
    }
    keeps = admin_foresee_adoption(admin, &error);
    if (keeps < 0)
        return cli_fail(&error);
    if (keeps > 0)
        (void)fprintf(stderr, "outbox-relay: warning: %s\n  %s\n", error.text, error.hint);
    return EXIT_DONE;
}

/* Prints the problem of each column because of which `init` has created nothing, and what the
 * relay might be told about another column. */
static void print_columns(struct admin *admin)
{
    struct findings findings;

    if (findings_init(&findings) < 0)
        return;
    admin_inspect_columns(admin, &findings);
    for (int i = 0; i < findings.count; i++) {
        (void)fprintf(stderr, "outbox-relay: %s%s\n",
                      findings.items[i].level == FINDING_WARNING ? "warning: " : "",
                      findings.items[i].text);
        if (findings.items[i].fix[0] != '\0')
            (void)fprintf(stderr, "  %s\n", findings.items[i].fix);
    }
    findings_free(&findings);
}

/* The SQL by which an outbox that was there before gets the order trigger is left to its owner, as
 * what else it lacks. Returns 0, or -1 with *error and, unless it failed, *missing set. */
static int add_order(struct admin *admin, char **missing, struct error *error)
{
    char *sql = admin_order_sql(admin, error);

    if (sql == NULL)
        return -1;
    if (sql[0] != '\0') {
        *missing = sql;
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "this SQL adds the order trigger; init leaves it to you, because the"
                         " outbox is in use:");
    }
    free(sql);
    return 0;
}

static void print_order(struct admin *admin)
{
    char grant[512];

    admin_order_grant(admin, grant, sizeof grant);
    (void)printf("the order trigger locks each key; other roles that insert need: %s\n", grant);
}

static enum exit_status create(struct admin *admin, const struct arguments *arguments)
{
    char *elsewhere = strdup(admin_table_elsewhere(admin)); /* init describes the table anew */
    struct error error;
    char *executed = NULL;
    char *missing = NULL;
    enum exit_status status;
    int result = admin_init(admin, &executed, &missing, &error);

    if (executed != NULL)
        (void)fprintf(stderr, "outbox-relay: what the tables lacked was added by:\n%s", executed);
    free(executed);
    if (missing == NULL)
        print_columns(admin);
    if (result == 0 && elsewhere != NULL && elsewhere[0] != '\0')
        (void)fprintf(stderr,
                      "outbox-relay: warning: there is also table %s; if that is the outbox, name"
                      " it as table in [outbox]\n",
                      elsewhere);
    free(elsewhere);
    if (result == 0 && arguments->order_trigger)
        result = add_order(admin, &missing, &error);
    if (result == 0) {
        (void)printf("the tables are ready\n");
        status = warn_of_run(admin);
        if (status != EXIT_DONE)
            return status;
        if (arguments->order_trigger)
            print_order(admin);
        if (arguments->notify && admin_init_notify(admin, &error) < 0)
            return cli_fail(&error);
        if (arguments->notify)
            (void)printf("inserts wake idle relays\n");
        return EXIT_DONE;
    }
    status = cli_fail(&error);
    if (missing == NULL)
        return status;
    (void)print_and_free(missing, NULL);
    (void)fprintf(stderr, "outbox-relay: next: run this SQL as the owner of the table, for example"
                          " through psql; then: outbox-relay init\n");
    return EXIT_BY_HAND;
}

static enum exit_status print(struct admin *admin, const struct arguments *arguments)
{
    struct error error;
    enum exit_status status = EXIT_DONE;
    char *sql;

    if (arguments->print) {
        sql = admin_schema_sql(admin, &error);
        if (sql == NULL)
            print_columns(admin);
        status = print_and_free(sql, &error);
    }
    if (status == EXIT_DONE && arguments->order_trigger && admin_has_table(admin))
        status = print_and_free(admin_order_sql(admin, &error), &error);
    if (status == EXIT_DONE && arguments->notify)
        status = print_and_free(admin_notify_sql(admin), NULL);
    if (status == EXIT_DONE && arguments->grant != NULL)
        status = print_and_free(admin_grant_sql(admin, arguments->grant, &error), &error);
    if (status == EXIT_DONE && arguments->feed != NULL)
        status = print_and_free(
            admin_feed_sql(admin, arguments->feed, arguments->order_trigger, &error), &error);
    return status;
}

enum exit_status cli_init(const struct arguments *arguments, struct config *config)
{
    bool prints = arguments->print || arguments->grant != NULL || arguments->feed != NULL;
    struct error error;
    struct admin *admin;
    enum exit_status status;

    if (arguments->inbox &&
        (arguments->print || arguments->grant != NULL || arguments->notify ||
         arguments->order_trigger || arguments->partitions > 0 || arguments->feed != NULL)) {
        (void)cli_refuse("init", "--inbox is for a consumer's database, and stands alone", &error);
        return cli_fail(&error);
    }
    if (arguments->inbox) {
        (void)fputs(embedded_inbox, stdout);
        return EXIT_DONE;
    }
    admin = admin_open(&config->relay.outbox, &error);
    if (admin == NULL || (arguments->order_trigger && admin_order(admin, &error) < 0) ||
        (arguments->partitions > 0 && admin_partition(admin, arguments->partitions, &error) < 0))
        status = cli_fail(&error);
    else
        status = prints ? print(admin, arguments) : create(admin, arguments);
    admin_close(admin);
    return status == EXIT_DONE && !prints ? cli_make_destinations(&config->relay) : status;
}
