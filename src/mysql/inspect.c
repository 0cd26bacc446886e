/* check: what of the server, the tables and the role keeps a relay from working, or makes it work
 * otherwise than one would expect. */
#include "mysql/admin.h"

#include "mysql/order.h"
#include "mysql/statements.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES                                                                               \
    (INT64_C(16) << 20) /* a row of the largest usual message, and its statement                   \
                         */

/* ---- the server ---- */

static void inspect_version(const struct db_session *session, struct findings *findings)
{
    (void)findings_add(findings, FINDING_OK, "%s %u.%u.%u",
                       session->is_mariadb ? "MariaDB" : "MySQL", session->version / 10000,
                       session->version / 100 % 100, session->version % 100);
}

static void inspect_settings(struct admin *admin, const MYSQL_ROW row, struct findings *findings)
{
    int64_t packet = strtoll(row[1], NULL, 10);
    long step = strtol(row[2], NULL, 10);

    if (packet < PACKET_BYTES)
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "max_allowed_packet is %lld bytes: no larger row can be inserted",
                                 (long long)packet),
                    "SET GLOBAL max_allowed_packet = 67108864;");
    if (step != 1)
        (void)findings_add(findings, FINDING_WARNING,
                           "auto_increment_increment is %ld: with several servers that accept"
                           " inserts, ids do not grow in the order of insertion",
                           step);
    if (strtol(row[4], NULL, 10) > 0 && admin->options->on_sent == ON_SENT_DELETE)
        (void)findings_add(findings, FINDING_NOTE,
                           "%s trigger%s when the relay deletes a row of %s", row[4],
                           strcmp(row[4], "1") == 0 ? " fires" : "s fire", admin->tables.outbox);
    if (strtol(row[5], NULL, 10) > 0 && admin->options->on_sent == ON_SENT_DELETE)
        (void)findings_add(findings, FINDING_WARNING,
                           "foreign keys refer to %s: a row that another one refers to cannot be"
                           " deleted, and waits with its key",
                           admin->tables.outbox);
}

static int inspect_server(struct admin *admin, struct findings *findings, struct error *error)
{
    MYSQL_RES *rows = tables_query(&admin->tables, &admin->session, db_sql_inspect, NULL, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    struct error problem;

    if (rows == NULL)
        return -1;
    inspect_version(&admin->session, findings);
    if (db_server_check(&admin->server, admin->options, &problem) < 0)
        findings_add_error(findings, &problem);
    if (row != NULL)
        inspect_settings(admin, row, findings);
    mysql_free_result(rows);
    return 0;
}

/* ---- the tables ---- */

static void inspect_text(struct findings *findings, enum column column, MYSQL_ROW row)
{
    size_t len = strlen(row[3]);
    bool is_exact = len == 0 || (len > 4 && strcmp(row[3] + len - 4, "_bin") == 0);

    if (column == COLUMN_KEY && !is_exact)
        (void)findings_add(findings, FINDING_NOTE,
                           "column %s has collation %s: keys that it takes for equal, such as \"a\""
                           " and \"A\", are different keys to the relay, without an order among"
                           " them",
                           row[0], row[3]);
}

static void inspect_column(struct admin *admin, struct findings *findings, enum column column,
                           MYSQL_ROW row)
{
    if (column == COLUMN_ID && strstr(row[2], "auto_increment") == NULL)
        (void)findings_add(findings, FINDING_WARNING,
                           "column %s has no AUTO_INCREMENT: ids must grow in the order of"
                           " insertion all the same",
                           row[0]);
    if (column == COLUMN_PAYLOAD && strcmp(row[1], "json") == 0 && !admin->session.is_mariadb)
        (void)findings_add(findings, FINDING_WARNING,
                           "column %s is JSON, which MySQL rewrites: the order of names, spaces and"
                           " repeated names are lost before the relay sees the payload; LONGTEXT"
                           " and LONGBLOB keep it",
                           row[0]);
    inspect_text(findings, column, row);
}

static int inspect_columns(struct admin *admin, struct findings *findings, struct error *error)
{
    MYSQL_RES *rows =
        tables_query(&admin->tables, &admin->session, db_sql_inspect_columns, NULL, error);
    MYSQL_ROW row;

    if (rows == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL)
        for (int i = 0; i < COLUMN_COUNT; i++) {
            const char *configured = outbox_column(admin->options, (enum column)i);
            char name[OUTBOX_NAME_BYTES];

            if (configured != NULL && !outbox_is_expression(configured) &&
                outbox_read_column(configured, name) == NULL && strcasecmp(name, row[0]) == 0)
                inspect_column(admin, findings, (enum column)i, row);
        }
    mysql_free_result(rows);
    (void)findings_add(findings, FINDING_OK, "table %s", admin->tables.outbox);
    return 0;
}

/* ---- the role ---- */

static void inspect_xa(struct admin *admin, struct findings *findings)
{
    struct error problem;
    MYSQL_RES *rows = db_query(&admin->session, "XA RECOVER", &problem);

    if (rows == NULL)
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "transactions that are prepared by XA cannot be read, so that"
                                 " their rows may be sent out of order: %s",
                                 problem.text),
                    "GRANT XA_RECOVER_ADMIN ON *.* TO the role of the relay");
    mysql_free_result(rows);
}

static void inspect_rights(struct admin *admin, struct findings *findings)
{
    struct error problem;

    if (tables_execute(&admin->tables, &admin->session, db_sql_rights, NULL, &problem) >= 0)
        (void)findings_add(findings, FINDING_OK, "the role has the rights that a relay needs");
    else
        finding_fix(findings_add(findings, FINDING_ERROR, "%s", problem.text),
                    "GRANT SELECT, INSERT, UPDATE, DELETE on the outbox and on the relay's tables"
                    " beside it; or %s init, where these do not exist",
                    source_program);
}

int admin_inspect(struct admin *admin, struct findings *findings, struct error *error)
{
    struct error problem;

    if (inspect_server(admin, findings, error) < 0)
        return -1;
    if (!admin->tables.exists) {
        finding_fix(
            findings_add(findings, FINDING_ERROR, "table %s does not exist", admin->tables.outbox),
            "%s init", source_program);
        return 0;
    }
    if (inspect_columns(admin, findings, error) < 0 || order_inspect(admin, findings, error) < 0)
        return -1;
    inspect_rights(admin, findings);
    inspect_xa(admin, findings);
    if (!findings_have_error(findings) && admin_check_slices(admin, &problem) < 0)
        findings_add_error(findings, &problem);
    return 0;
}

/* ---- rows that wait ---- */

static void take(struct batch *batch, MYSQL_ROW row, const unsigned long *lengths)
{
    struct message *message = batch_add(batch);
    struct text fields[5] = {{NULL, 0}};

    if (message == NULL)
        return;
    for (int i = 0; i < 5; i++)
        if (row[i] != NULL)
            fields[i] = batch_copy(batch, row[i], lengths[i]);
    message->id = fields[0];
    message->event_id = fields[1];
    message->topic = fields[2];
    message->key = fields[3];
    message->type = fields[4];
}

int admin_sample(struct admin *admin, struct batch *batch, struct error *error)
{
    char limit[16];
    const struct sql_fact facts[] = {{"limit", .text = limit}, {.name = NULL}};
    MYSQL_RES *rows;
    MYSQL_ROW row;

    (void)snprintf(limit, sizeof limit, "%d", batch->capacity);
    rows = tables_query(&admin->tables, &admin->session, db_sql_sample, facts, error);
    if (rows == NULL)
        return -1;
    while (batch->count < batch->capacity && (row = mysql_fetch_row(rows)) != NULL)
        take(batch, row, mysql_fetch_lengths(rows));
    mysql_free_result(rows);
    return 0;
}
