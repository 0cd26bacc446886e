#include "mysql/parked.h"

#include "base/clock.h"
#include "mysql/document.h"
#include "mysql/settle.h"
#include "mysql/statements.h"

#include <stdlib.h>
#include <string.h>

static int64_t run(struct admin *admin, const char *statement, const struct text *params, int count,
                   struct error *error)
{
    char *sql = tables_statement(&admin->tables, statement, NULL);
    int64_t changed = sql != NULL ? db_run_once(&admin->session, sql, params, count, error)
                                  : error_no_memory(error);

    free(sql);
    return changed;
}

int pause_begin(struct admin *admin, const char *kind, const char *name, const char *reason,
                bool *changed, struct error *error)
{
    const struct text params[] = {text_of(kind), text_of(name),
                                  reason != NULL ? text_of(reason) : (struct text){NULL, 0}};
    int64_t added = run(admin, db_sql_pause_begin, params, 3, error);

    *changed = added > 0;
    return added < 0 ? -1 : 0;
}

/* What relays have not let go, they find by themselves (outbox_adopt): this only speeds it up. */
int pause_end(struct admin *admin, const char *kind, const char *name, bool *changed,
              struct error *error)
{
    const struct text params[] = {text_of(kind), text_of(name)};
    int64_t ended = run(admin, db_sql_pause_end, params, 2, error);
    char *waits_for = NULL;

    *changed = ended > 0;
    if (ended <= 0)
        return ended < 0 ? -1 : 0;
    if (asprintf(&waits_for, "%s %s", kind, name) < 0)
        return error_no_memory(error);
    const struct text held = text_of(waits_for);

    ended = run(admin, db_sql_let_go, &held, 1, error);
    free(waits_for);
    return ended < 0 || settle_adopt(&admin->tables, &admin->session, error) < 0 ? -1 : 0;
}

json_t *pause_list(struct admin *admin, struct error *error)
{
    return document_rows(admin, db_sql_pause_list, NULL, error);
}

/* A batch holds the locks of its slices until it is settled. */
int pause_wait(struct admin *admin, struct error *error)
{
    int64_t until_ms = clock_now_ms() + admin->options->publish_timeout_ms + OUTBOX_SLACK_MS;

    for (int slice = 0; slice < admin->tables.slices; slice++) {
        char number[12];
        const struct sql_fact facts[] = {{"locked", .text = number}, {.name = NULL}};
        MYSQL_RES *locked;

        (void)snprintf(number, sizeof number, "%d", slice);
        do
            locked = tables_query(&admin->tables, &admin->session, db_sql_lock_these_slices, facts,
                                  error);
        while (locked == NULL && error->cause == ERROR_LOCKED && clock_left_ms(until_ms) > 0);
        if (locked == NULL)
            return -1;
        mysql_free_result(locked);
    }
    return 0;
}
