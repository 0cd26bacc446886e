#ifndef INTEGRATION_PLANTED_FAULTS_H
#define INTEGRATION_PLANTED_FAULTS_H

/* Faults of every kind at once, which the audit tells apart, whatever the broker. */

#include "integration/auditing.h"

#define PLANTED_ROWS 20

/* What a test of a broker gives: its messages, and the words of its findings. */
struct planting {
    void (*repeat)(int row); /* the message of this row, once more at the end */
    void (*publish_unknown)(const char *event_id); /* NULL: without an id */
    void (*ignore_order)(struct fixture *fixture); /* configures order = "none" */
    const char *place, *is_at;                     /* a stream or a topic, and its name */
    const char *position;
    int first; /* the position of the first message */
};

struct planted_fault {
    const char *sql;
    const char *finding;
    const char *id; /* NULL: the event id that the SQL returns */
};

static const struct planted_fault planted_faults[] = {
    {"UPDATE outbox SET payload = '{\"a\": 1}' WHERE id = 2", "altered", "2"},
    {"UPDATE outbox SET headers = '{\"h\": \"2\"}' WHERE id = 4", "altered", "4"},
    {"UPDATE outbox SET headers = headers || '{\"i\": \"\"}' WHERE id = 5", "altered", "5"},
    {"UPDATE outbox SET key = 'k2' WHERE id = 6", "altered", "6"},
    {"UPDATE outbox SET topic = 'other' WHERE id = 8", "altered", "8"},
    {"UPDATE outbox SET type = 'T2' WHERE id = 10", "altered", "10"},
    {"INSERT INTO outbox (topic, key, sent_at) VALUES ('a', 'k', now())", "missing", "21"},
    {"DELETE FROM outbox WHERE id = 9 RETURNING event_id", "unknown", NULL},
};

static void plant_at_broker(struct fixture *fixture, const struct planting *planting)
{
    planting->repeat(3);
    planting->repeat(3);
    planting->publish_unknown("no-such-event");
    planting->publish_unknown(NULL);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE VALUES"
                       " (-1, 'a', 'k')");
    drain(fixture);
}

static void assert_position(const struct planting *planting, const json_t *finding, int messages)
{
    assert_int_equal(json_integer_value(json_object_get(finding, planting->position)),
                     planting->first + messages);
    assert_string_equal(json_string_value(json_object_get(finding, planting->place)),
                        planting->is_at);
}

/* PLANTED_ROWS rows of the key "k" have been sent, the first before the others. */
static void find_planted_faults(struct fixture *fixture, const struct planting *planting)
{
    char deleted[64] = "";

    plant_at_broker(fixture, planting);
    for (size_t i = 0; i < sizeof planted_faults / sizeof *planted_faults; i++)
        (void)snprintf(deleted, sizeof deleted, "%s",
                       sql_text(fixture->conn, "%s", planted_faults[i].sql));
    audit_all(fixture, 1);
    assert_findings(fixture, (struct expected){
                                 .missing = 1, .unknown = 2, .late = 1, .again = 2, .altered = 6});
    for (size_t i = 0; i < sizeof planted_faults / sizeof *planted_faults; i++)
        (void)finding_of(fixture, planted_faults[i].finding,
                         planted_faults[i].id != NULL ? planted_faults[i].id : deleted);
    assert_position(planting, finding_of(fixture, "unknown", deleted), 8);
    assert_position(planting, finding_of(fixture, "again", "3"), PLANTED_ROWS);
    assert_position(planting, finding_of(fixture, "unknown", "no-such-event"), PLANTED_ROWS + 2);
    assert_position(planting, finding_of(fixture, "late", "-1"), PLANTED_ROWS + 4);
    assert_string_equal(
        json_string_value(json_object_get(finding_of(fixture, "missing", "21"), planting->place)),
        planting->is_at);
    assert_counted(fixture, "without_id", 1);
    assert_counted(fixture, "found", PLANTED_ROWS);        /* 22 rows; one deleted, one missing */
    assert_counted(fixture, "messages", PLANTED_ROWS + 5); /* 2 again, 2 unknown, 1 late */
    planting->ignore_order(fixture);
    audit_all(fixture, 1);
    assert_counted(fixture, "late", 0);
}

#endif
