#ifndef INTEGRATION_AUDITING_H
#define INTEGRATION_AUDITING_H

/* Runs `audit --json` and keeps what it says. */

#include "integration/program.h"

#include <jansson.h>

#define FINDINGS_MAX 5000

static json_t *findings[FINDINGS_MAX]; /* in the order of their lines */
static int finding_count;
static json_t *summary;

static inline void forget_findings(void)
{
    for (int i = 0; i < finding_count; i++)
        json_decref(findings[i]);
    json_decref(summary);
    finding_count = 0;
    summary = NULL;
}

/* The last line is the summary; each one before it is a finding. */
static inline void take_findings(struct fixture *fixture, int status, int expected)
{
    char *line = fixture->process.out;

    expect(fixture, status, expected);
    forget_findings();
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);

        if (object == NULL || summary != NULL || finding_count == FINDINGS_MAX)
            fail_msg("not a line of findings: %s", line);
        if (json_object_get(object, "summary") != NULL)
            summary = object;
        else
            findings[finding_count++] = object;
    }
    assert_non_null(summary);
}

#define audit_of(fixture, expected, ...)                                                           \
    take_findings(fixture, run(fixture, "audit", "--json", "-c", (fixture)->config, __VA_ARGS__),  \
                  expected)
#define audit_all(fixture, expected)                                                               \
    take_findings(fixture, run(fixture, "audit", "--json", "-c", (fixture)->config), expected)

static inline long long counted(const char *name)
{
    const json_t *count = json_object_get(json_object_get(summary, "summary"), name);

    if (!json_is_integer(count))
        fail_msg("the summary has no count \"%s\"", name);
    return json_integer_value(count);
}

static inline void assert_counted(struct fixture *fixture, const char *name, long long expected)
{
    if (counted(name) != expected)
        fail_msg("%s is %lld instead of %lld; it said: %s", name, counted(name), expected,
                 fixture->process.out);
}

struct expected {
    int missing, unknown, late, again, altered;
};

static inline void assert_findings(struct fixture *fixture, struct expected expected)
{
    assert_counted(fixture, "missing", expected.missing);
    assert_counted(fixture, "unknown", expected.unknown);
    assert_counted(fixture, "late", expected.late);
    assert_counted(fixture, "again", expected.again);
    assert_counted(fixture, "altered", expected.altered);
    assert_int_equal(finding_count, expected.missing + expected.unknown + expected.late +
                                        expected.again + expected.altered);
}

/* No finding, and every row was found and compared. */
static inline void assert_clean(struct fixture *fixture, int rows)
{
    assert_findings(fixture, (struct expected){0});
    assert_counted(fixture, "rows", rows);
    assert_counted(fixture, "found", rows);
    assert_counted(fixture, "not_compared", 0);
    assert_counted(fixture, "without_route", 0);
    assert_counted(fixture, "unreadable", 0);
}

/* The row's id; of an unknown event its event id. */
static inline bool is_finding(const json_t *finding, const char *kind, const char *id)
{
    const char *of_row = json_string_value(json_object_get(finding, "id"));
    const char *event_id = json_string_value(json_object_get(finding, "event_id"));

    return strcmp(json_string_value(json_object_get(finding, "finding")), kind) == 0 &&
           event_id != NULL && strcmp(of_row != NULL ? of_row : event_id, id) == 0;
}

static inline const json_t *finding_of(struct fixture *fixture, const char *kind, const char *id)
{
    for (int i = 0; i < finding_count; i++)
        if (is_finding(findings[i], kind, id))
            return findings[i];
    fail_msg("%s is not found to be %s: %s", id, kind, fixture->process.out);
    return NULL;
}

static inline void drain(struct fixture *fixture)
{
    expect(fixture, run_drain(fixture), 0);
}

#endif
