#include "admin/parked/pause.h"

#include "admin/admin_session.h"
#include "base/clock.h"
#include "catalog/describe.h"
#include "catalog/pauses.h"
#include "sql/statements.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 20

const char *pause_word(enum pause_what what)
{
    static const char *const words[] = {"sink", "topic", "key"};

    return words[what];
}

const char *pause_name_problem(const char *name)
{
    if (name[0] == '\0')
        return "it is empty";
    if (strlen(name) > PAUSE_NAME_MAX)
        return "it is longer than 512 bytes";
    if (!text_is_utf8(name, strlen(name)))
        return "it is not UTF-8";
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return "it contains a control character";
    return NULL;
}

static const char *pause_kind(enum pause_what what)
{
    static const char *const kinds[] = {PAUSED_PREFIX "sink", PAUSED_PREFIX "topic",
                                        PAUSED_PREFIX "key"};

    return kinds[what];
}

/* Runs a statement that changes rows of a table, and returns how many; -1 with *error set. */
static int64_t change(struct admin *admin, const char *statement, int param_count,
                      const char *const *params, struct error *error)
{
    PGresult *result = admin_query(admin, statement, param_count, params, error);
    int64_t changed = result != NULL ? (int64_t)strtoll(PQcmdTuples(result), NULL, 10) : -1;
    PQclear(result);
    return changed;
}

int admin_pause(struct admin *admin, enum pause_what what, const char *name, const char *reason,
                struct error *error)
{
    const char *params[3] = {pause_kind(what), name, reason};

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    return (int)change(admin,
                       "INSERT INTO {control} (kind, name, reason) VALUES ($1, $2, $3)"
                       " ON CONFLICT DO NOTHING",
                       3, params, error);
}

int admin_resume(struct admin *admin, enum pause_what what, const char *name, struct error *error)
{
    const char *params[2] = {pause_kind(what), name};

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    return (int)change(admin, "DELETE FROM {control} WHERE kind = $1 AND name = $2", 2, params,
                       error);
}

int admin_let_go(struct admin *admin, enum pause_what what, const char *name, struct error *error)
{
    char waits_for[PAUSE_NAME_MAX + 32];
    const char *params[1] = {waits_for};

    (void)snprintf(waits_for, sizeof waits_for, "%s %s", pause_kind(what), name);
    if (change(admin, statement_let_go, 1, params, error) < 0)
        return -1;
    return admin_adopt_waiting(admin, error);
}

/* NULL with *error set. */
static PGresult *find_claims(struct admin *admin, const char *among, struct error *error)
{
    const char *params[1] = {among};

    return admin_query(admin, statement_open_claims, 1, params, error);
}

int admin_wait_for_claims(struct admin *admin, struct error *error)
{
    int64_t until_ms =
        clock_now_ms() + admin->options->publish_timeout_ms + OUTBOX_SLACK_MS + LOOK_MS;
    PGresult *result = find_claims(admin, NULL, error);
    char *open = result != NULL ? strdup(PQgetvalue(result, 0, 0)) : NULL;
    int left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;

    if (result != NULL && open == NULL)
        left = error_no_memory(error);
    PQclear(result);
    while (left > 0 && clock_left_ms(until_ms) > 0) {
        (void)poll(NULL, 0, LOOK_MS);
        result = find_claims(admin, open, error);
        left = result != NULL ? (int)strtol(PQgetvalue(result, 0, 1), NULL, 10) : -1;
        PQclear(result);
    }
    free(open);
    return left;
}

int admin_list_pauses(struct admin *admin, struct pause_notes *pauses, struct error *error)
{
    PGresult *result;

    *pauses = (struct pause_notes){0};
    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    result = admin_query(admin, statement_list_pauses, 0, NULL, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && row < PAUSES_LISTED_MAX; row++) {
        struct pause_note *note = &pauses->items[pauses->count++];

        (void)snprintf(note->what, sizeof note->what, "%s", PQgetvalue(result, row, 0));
        (void)snprintf(note->name, sizeof note->name, "%s", PQgetvalue(result, row, 1));
        (void)snprintf(note->since, sizeof note->since, "%s", PQgetvalue(result, row, 2));
        note->age_s = strtod(PQgetvalue(result, row, 3), NULL);
        (void)snprintf(note->by, sizeof note->by, "%s", PQgetvalue(result, row, 4));
        (void)snprintf(note->reason, sizeof note->reason, "%s", PQgetvalue(result, row, 5));
    }
    pauses->more = PQntuples(result) - pauses->count;
    PQclear(result);
    return 0;
}
