#include "catalog/refused.h"

#include <string.h>

/* An error's text ends with its SQLSTATE (session_fail). */
const char *refused_remedy(const char *why)
{
    static const struct {
        const char *state;
        const char *remedy;
    } remedies[] = {
        {"SQLSTATE 23503)", "delete the rows that reference it, or give the foreign key ON DELETE"
                            " CASCADE; with on_sent = \"mark\" rows are deleted by the purge only"},
        {"SQLSTATE 42501)", "GRANT what is missing: outbox-relay init --grant ROLE prints what the"
                            " relay needs; a trigger's function may need more"},
        {"SQLSTATE 55000)", "give the table a primary key, or ALTER TABLE ... REPLICA IDENTITY"
                            " FULL, or take it out of the publication"},
        {"SQLSTATE 55P03)", "end the transaction that holds the lock: pg_blocking_pids() names it"},
        {"SQLSTATE 40P01)", "end the transactions that lock the same rows in another order"},
        {"SQLSTATE 57014)", "the UPDATE or DELETE takes too long: look at the table's triggers"},
        {"SQLSTATE 23514)", "change the row or the CHECK constraint"},
        {"SQLSTATE 23505)", "change the row or the unique index"},
        {"trigger or a rule", "exempt the relay's role from the table's triggers and rules"},
        {"SQLSTATE P0001)", "change the table's trigger, or the row that it refuses"},
    };

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strstr(why, remedies[i].state) != NULL)
            return remedies[i].remedy;
    return "remove the cause, which outbox-relay dead show names; the row is tried again by itself";
}
