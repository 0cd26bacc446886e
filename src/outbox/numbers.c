#include "outbox/numbers.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

/* The entries of many rows that got numbers stay in the index while a snapshot is held. */
#define LOOK_MS 1000
#define LOOK_SHARE 20 /* a look takes at most a twentieth of the time */

/* What a trigger of the application keeps from getting a number would be tried for ever. */
static int refuse(const struct outbox *outbox, int64_t rows, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "%" PRId64 " row%s of %s have no number in column %s, and get none", rows,
                    PLURAL(rows), outbox->table.quoted, outbox->table.columns[COLUMN_ID].quoted);
    return error_hint(error, "outbox-relay init --order-trigger; then look for a trigger on UPDATE"
                             " that changes this column");
}

static int number_batch(struct outbox *outbox, const struct array *slice, struct error *error)
{
    struct session *session = &outbox->session;
    PGresult *result;
    int64_t chosen, numbered;

    if (session_execute(session, "BEGIN", error) < 0)
        return -1;
    result = session_run(session, "lock_one_slice", 1, slice, error);
    if (result == NULL)
        return -1;
    PQclear(result);
    result = session_run(session, "number", 1, slice, error);
    if (result == NULL)
        return -1;
    chosen = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    numbered = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    if (numbered < chosen) {
        session_close(session);
        return refuse(outbox, chosen - numbered, error);
    }
    outbox->rows_numbered += numbered;
    return session_execute(session, "COMMIT", error);
}

void numbers_look(struct outbox *outbox)
{
    if (outbox->table.numbered && outbox->numbering == NUMBERING_NONE &&
        !outbox->session.in_flight && clock_left_ms(outbox->numbers_due_ms) <= 0)
        outbox->numbering = NUMBERING_LATE;
}

/* Lanes that number at the same time begin with different slices. */
int numbers_step(struct outbox *outbox, bool *done, struct error *error)
{
    int64_t began_ms = clock_now_ms();
    PGresult *found = session_run(&outbox->session, "unnumbered", 0, NULL, error);
    int slices = found != NULL ? PQntuples(found) : 0;
    uint32_t slice;

    *done = slices == 0;
    outbox->numbers_due_ms = clock_now_ms() + LOOK_MS + LOOK_SHARE * (clock_now_ms() - began_ms);
    if (slices > 0)
        slice = htobe32(
            (uint32_t)strtol(PQgetvalue(found, (int)(clock_boot_ms() % slices), 0), NULL, 10));
    PQclear(found);
    if (found == NULL)
        return -1;
    if (slices > 0)
        return number_batch(
            outbox, &(const struct array){.bytes = (char *)&slice, .len = sizeof slice}, error);
    if (outbox->rows_numbered > 0)
        log_info("%" PRId64 " row%s of table %s had no number in column %s, and got one",
                 outbox->rows_numbered, PLURAL(outbox->rows_numbered), outbox->table.quoted,
                 outbox->table.columns[COLUMN_ID].quoted);
    outbox->rows_numbered = 0;
    return 0;
}
