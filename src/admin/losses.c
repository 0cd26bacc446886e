/* What brokers may have lost of what they had acknowledged, as relays have noticed it, for `purge`
 * and `audit`. */
#include "admin/admin_session.h"

#include "sql/statements.h"

int admin_raise_age(struct admin *admin, int64_t *age_ms, struct error *error)
{
    int64_t lost_ms = 0;

    if (admin->table.control_exists)
        lost_ms = admin_number(admin, statement_lost_age, 0, NULL, error);
    if (lost_ms > *age_ms)
        *age_ms = lost_ms;
    return lost_ms < 0 ? -1 : 0;
}

int64_t admin_clock_ms(struct admin *admin, struct error *error)
{
    return admin_number(admin, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", 0,
                        NULL, error);
}

void admin_hint_losses(const struct admin *admin, const char *sink, struct error *error)
{
    (void)error_hint(error,
                     "correct the name; or, for a sink that is used no more and of which status"
                     " names a loss: DELETE FROM %s WHERE kind = 'setting' AND starts_with(name,"
                     " 'lost %s/')",
                     admin->table.control_quoted, sink);
}

int admin_forget_losses(struct admin *admin, const struct memory_audit *audit, struct error *error)
{
    int64_t age_ms = 0;

    if (admin_raise_age(admin, &age_ms, error) < 0)
        return -1;
    if (age_ms == 0) /* there is nothing to forget: a role that may only read can audit, too */
        return 0;
    if (admin->options->on_sent == ON_SENT_DELETE || !table_knows_sent(&admin->table)) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "no audit can tell what is missing, since the table does not say what was"
                        " sent; once you have dealt with it: DELETE FROM %s WHERE kind = 'setting'"
                        " AND name LIKE 'lost %%'",
                        admin->table.control_quoted);
        return -1;
    }
    return memory_forget_losses(&admin->table, &admin->session, audit, error);
}
