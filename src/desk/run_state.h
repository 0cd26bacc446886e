#ifndef DESK_RUN_STATE_H
#define DESK_RUN_STATE_H

#include "admin/admin_session.h"
#include "desk/run.h"
#include "desk/show.h"
#include "desk/statement.h"

/* For the files of this folder only. */

struct param {
    char name[24];
    char *value; /* owned; NULL: not given */
};

struct desk {
    struct admin *admin;
    struct param params[DESK_PARAMS_MAX];
    int param_count;
    const char *since; /* as it is given */
    struct show show;
    bool writes;
    int64_t total;
    struct desk_statement statement; /* of the step */
    int singles; /* rows of a failed page that are still to be processed one by one */
};

/* A parameter's value; NULL: not given. */
const char *desk_value(const struct desk *desk, const char *name);
/* Chooses the statement that desk_ask() runs. 0, or -1 with *error set. */
int desk_choose(struct desk *desk, struct text name, struct error *error);
/* PQclear() the result. NULL with *error set, also when the statement refuses what is asked. */
PGresult *desk_ask(struct desk *desk, struct error *error);

/* Whether there are rows that can be sent again. 0, or -1 with *error set. */
int desk_check_sent(struct desk *desk, struct error *error);
/* Copies sent rows, {$step} of them in a transaction, at {$rate} rows a second, until the statement
 * returns no desk_next. by_command: Ctrl-C ends it after the step in hand, and it says how many
 * there were. 0, or -1 with *error set, which says how far it came. */
int desk_replay(struct desk *desk, bool by_command, struct error *error);

/* Waits until every batch that is claimed now has been settled or abandoned, at most as long as a
 * claim can last. Returns how many are left, or -1 with *error set. */
int desk_wait_for_claims(struct admin *admin, struct error *error);

#endif
