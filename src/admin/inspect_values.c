#include "admin/admin_session.h"

#include "admin/facts.h"
#include "catalog/columns.h"
#include "catalog/sequence.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- rows without an id ---- */

/* SET NOT NULL fails as long as such rows are there. */
static void put_id_fix(const struct table *table, bool fill, char *fix, size_t size)
{
    const struct table_column *id = &table->columns[COLUMN_ID];
    size_t len = 0;

    if (fill && id->has_default)
        len = (size_t)snprintf(fix, size, "UPDATE %s SET %s = DEFAULT WHERE %s IS NULL; ",
                               table->quoted, id->quoted, id->quoted);
    else if (fill)
        len = (size_t)snprintf(fix, size, "UPDATE these rows to ids above all others, then: ");
    if (len < size)
        (void)snprintf(fix + len, size - len, "ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;",
                       table->quoted, id->quoted);
}

int inspect_rows_without_id(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table_column *id = &admin->table.columns[COLUMN_ID];
    struct finding *finding;
    int64_t count;

    if (!table_has(&admin->table, COLUMN_ID) || id->not_null)
        return 0;
    count = admin_number(admin, statement_rows_without_id, 0, NULL, error);
    if (count <= 0)
        return (int)count;
    finding = findings_add(
        findings, FINDING_ERROR,
        count == 1 ? "%" PRId64 "%s row of %s has no id (column %s is NULL) and is never sent"
                   : "%" PRId64 "%s rows of %s have no id (column %s is NULL) and are never sent",
        count, count == WITHOUT_ID_COUNT_MAX ? " or more" : "", admin->table.quoted, id->quoted);
    put_id_fix(&admin->table, true, finding->fix, sizeof finding->fix);
    return 0;
}

static int inspect_null_ids(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table_column *id = &admin->table.columns[COLUMN_ID];
    int before = findings->count;
    struct finding *finding;

    if (inspect_rows_without_id(admin, findings, error) < 0)
        return -1;
    if (findings->count > before || !table_has(&admin->table, COLUMN_ID) || id->not_null)
        return 0;
    finding = findings_add(findings, FINDING_ERROR,
                           "column %s (id) of %s may be NULL: such a row is not sent, and may hold"
                           " up others",
                           id->quoted, admin->table.quoted);
    put_id_fix(&admin->table, false, finding->fix, sizeof finding->fix);
    return 0;
}

/* ---- ids that come to an end ---- */

struct limits {
    const char *type;
    const char *low;
    const char *high;
};

static const struct limits *limits_of(const struct table_column *id)
{
    static const struct limits limits[] = {
        {"bigint", "-9223372036854775808", "9223372036854775807"},
        {"integer", "-2147483648", "2147483647"},
        {"smallint", "-32768", "32767"}};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(id->type, limits[i].type) == 0)
            return &limits[i];
    return NULL;
}

/* The whole of it: a sequence of bigint, and columns that hold its numbers. */
static void put_wider(const struct admin *admin, const struct sequence *sequence, char *fix,
                      size_t size)
{
    const struct table *table = &admin->table;
    size_t len = 0;

    if (sequence->quoted[0] != '\0')
        len = (size_t)snprintf(fix, size, "ALTER SEQUENCE %s AS bigint NO M%sVALUE;",
                               sequence->quoted, sequence->increment > 0 ? "AX" : "IN");
    if (strcmp(table->columns[COLUMN_ID].type, "bigint") != 0 && len < size)
        (void)snprintf(fix + len, size - len,
                       "%sALTER TABLE %s ALTER COLUMN %s TYPE bigint; ALTER TABLE %s ALTER COLUMN"
                       " id TYPE bigint; -- writes the tables anew",
                       len > 0 ? " " : "", table->quoted, table->columns[COLUMN_ID].quoted,
                       table->parked_quoted);
}

static void note_end(struct admin *admin, const struct sequence *sequence, const PGresult *result,
                     struct findings *findings)
{
    const struct table_column *id = &admin->table.columns[COLUMN_ID];
    const char *left = PQgetvalue(result, 0, 0);
    bool is_full = left[0] == '0' || left[0] == '-';
    bool by_type = PQgetvalue(result, 0, 2)[0] == 't';
    struct finding *finding = findings_add(
        findings, is_full && !sequence->cycles ? FINDING_ERROR : FINDING_WARNING,
        "column %s (id) of %s, %s%s%s, has %s ids left%s", id->quoted, admin->table.quoted,
        id->type, sequence->quoted[0] != '\0' ? " with sequence " : "", sequence->quoted,
        is_full ? "no" : left,
        sequence->cycles && !by_type ? ": then they begin anew (CYCLE)"
        : is_full                    ? ": every INSERT fails"
                                     : ": then every INSERT fails");

    if (!by_type || strcmp(id->type, "bigint") != 0)
        put_wider(admin, sequence, finding->fix, sizeof finding->fix);
}

static int inspect_ends(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table_column *id = &admin->table.columns[COLUMN_ID];
    const struct limits *limits = limits_of(id);
    struct sequence sequence;
    char oid[16];
    const char *params[3] = {oid};
    PGresult *result;

    if (limits == NULL)
        return 0;
    if (sequence_describe(&sequence, &admin->session, &admin->table, error) < 0)
        return -1;
    (void)snprintf(oid, sizeof oid, "%" PRIu32, sequence.oid);
    params[1] = limits->low;
    params[2] = limits->high;
    result = admin_query(admin, statement_ids_left, 3, params, error);
    if (result == NULL)
        return -1;
    if (PQgetvalue(result, 0, 1)[0] == 't')
        note_end(admin, &sequence, result, findings);
    PQclear(result);
    return 0;
}

/* ---- times without a zone ---- */

static void note_zone(struct admin *admin, enum column column, const char *problem,
                      const char *zone, struct findings *findings)
{
    const char *read_as = admin->options->time_zone != NULL ? admin->options->time_zone : "UTC";
    const char *quoted = admin->table.columns[column].quoted;

    finding_fix(
        findings_add(
            findings, FINDING_WARNING,
            "column %s (%s) of %s has no time zone, and is read as %s, but %s: %s may be wrong",
            quoted, column_name(column), admin->table.quoted, read_as, problem,
            column == COLUMN_CREATED_AT ? "times in messages, and ages,"
            : column == COLUMN_DUE      ? "when rows are sent"
                                        : "what retention deletes"),
        "write time_zone = \"%s\", or the zone in which the application writes, in"
        " [outbox]; or ALTER TABLE %s ALTER COLUMN %s TYPE pg_catalog.timestamptz USING"
        " %s AT TIME ZONE '%s';",
        zone, admin->table.quoted, quoted, quoted, zone);
}

static int inspect_zone_of_sessions(struct admin *admin, enum column column,
                                    struct findings *findings, struct error *error)
{
    struct zones zones;
    char problem[sizeof zones.all + 64];

    if (zone_find_others(&zones, &admin->session, error) < 0)
        return -1;
    (void)snprintf(problem, sizeof problem, "sessions of this database have TimeZone %s",
                   zones.all);
    if (zones.all[0] != '\0')
        note_zone(admin, column, problem, zones.first, findings);
    return 0;
}

/* A time_zone that is written down is believed, unless rows come from the future. */
static int inspect_zone(struct admin *admin, enum column column, struct findings *findings,
                        struct error *error)
{
    const struct table *table = &admin->table;
    const struct table_column *time = &table->columns[column];
    int before = findings->count;
    int64_t is_future;

    if (!zone_is_lacking(time))
        return 0;
    if (admin->options->time_zone == NULL &&
        inspect_zone_of_sessions(admin, column, findings, error) < 0)
        return -1;
    if (findings->count > before || !table->columns[COLUMN_ID].unique || column == COLUMN_DUE)
        return 0; /* due times lie in the future */
    is_future = admin_number(
        admin, column == COLUMN_SENT_AT ? statement_newest_sent : statement_newest_created, 0, NULL,
        error);
    if (is_future > 0)
        note_zone(admin, column, "the newest row then comes from the future", "ZONE", findings);
    return is_future < 0 ? -1 : 0;
}

int inspect_values(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *params[1] = {admin->table.quoted};
    int64_t may_read = admin_number(admin,
                                    "SELECT (pg_catalog.has_table_privilege($1, 'SELECT') AND NOT"
                                    " pg_catalog.row_security_active($1))::int",
                                    1, params, error);

    if (may_read <= 0) /* which is said elsewhere */
        return (int)may_read;
    if (inspect_null_ids(admin, findings, error) < 0 || inspect_ends(admin, findings, error) < 0 ||
        inspect_zone(admin, COLUMN_CREATED_AT, findings, error) < 0 ||
        inspect_zone(admin, COLUMN_DUE, findings, error) < 0)
        return -1;
    return admin->options->on_sent == ON_SENT_MARK
               ? inspect_zone(admin, COLUMN_SENT_AT, findings, error)
               : 0;
}
