#include "outbox/state.h"

#include "base/log.h"
#include "catalog/partitions.h"

#include <stdio.h>
#include <string.h>

static int read_era(struct outbox *outbox, const struct array *system, bool *is_current,
                    struct error *error)
{
    PGresult *result = session_run(&outbox->session, "position_era", 1, system, error);

    if (result == NULL)
        return -1;
    (void)snprintf(outbox->era, sizeof outbox->era, "%s", PQgetvalue(result, 0, 0));
    *is_current = PQgetvalue(result, 0, 1)[0] == 't';
    PQclear(result);
    return 0;
}

static int note_partitions(struct outbox *outbox, struct error *error)
{
    bool is_more = outbox->table.is_partitioned;
    PGresult *notes;

    while (is_more) {
        notes = session_run(&outbox->session, "note_partitions", 0, NULL, error);
        if (notes == NULL)
            return -1;
        is_more = partitions_say(notes);
        PQclear(notes);
    }
    return 0;
}

/* Another lane may have done it, until this one has the slices. */
static int begin_anew(struct outbox *outbox, const struct array *system, struct error *error)
{
    struct session *session = &outbox->session;
    PGresult *moved;
    bool is = false;

    if (session_execute(session, "BEGIN", error) < 0)
        return -1;
    moved = session_run(session, "lock_all_slices", 0, NULL, error);
    if (moved == NULL)
        return -1;
    PQclear(moved);
    /* The first look also locks the outbox: no partition leaves it before the second. */
    if (read_era(outbox, system, &is, error) < 0 ||
        (!is && (note_partitions(outbox, error) < 0 || read_era(outbox, system, &is, error) < 0)))
        return -1;
    if (!is) {
        moved = session_run(session, "position_anew", 1, system, error);
        if (moved == NULL)
            return -1;
        if (strcmp(PQcmdTuples(moved), "0") != 0)
            log_warn("ids of table %s may begin anew: each slice is read from its first row",
                     outbox->table.quoted);
        PQclear(moved);
    }
    return session_execute(session, "COMMIT", error);
}

int position_settle(struct outbox *outbox, struct error *error)
{
    const struct array system = {.bytes = outbox->server.system,
                                 .len = strlen(outbox->server.system)};
    bool is = false;

    if (outbox->options->on_sent != ON_SENT_POSITION)
        return 0;
    if (read_era(outbox, &system, &is, error) < 0)
        return -1;
    if (is)
        return 0;
    if (begin_anew(outbox, &system, error) < 0)
        return -1;
    return read_era(outbox, &system, &is, error); /* a claim notices if it has ended already */
}
