#include "admin/admin_session.h"

#include "admin/words.h"
#include "catalog/describe.h"
#include "sql/statements.h"

int64_t admin_count_unsent(struct admin *admin, struct error *error)
{
    int64_t count;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    count = admin_number(admin, statement_count_unsent, 0, NULL, error);
    return count < UNSENT_COUNT_MAX ? count : -1;
}
