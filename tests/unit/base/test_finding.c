#include "base/finding.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

TEST(past_the_limit_the_last_finding_is_replaced)
{
    struct findings findings;
    char text[16];

    assert_int_equal(findings_init(&findings), 0);
    for (int i = 0; i < FINDINGS_MAX + 3; i++) {
        struct finding *finding = findings_add(&findings, FINDING_WARNING, "number %d", i);

        assert_string_equal(finding->fix, "");
        (void)snprintf(finding->fix, sizeof finding->fix, "mend %d", i);
    }
    assert_int_equal(findings.count, FINDINGS_MAX);
    (void)snprintf(text, sizeof text, "number %d", FINDINGS_MAX + 2);
    assert_string_equal(findings.items[FINDINGS_MAX - 1].text, text);
    (void)snprintf(text, sizeof text, "number %d", FINDINGS_MAX - 2);
    assert_string_equal(findings.items[FINDINGS_MAX - 2].text, text);
    findings_free(&findings);
}

TEST(the_first_error_among_findings_is_the_error)
{
    struct findings findings;
    struct error error;

    assert_int_equal(findings_init(&findings), 0);
    (void)findings_add(&findings, FINDING_WARNING, "weak");
    assert_false(findings_have_error(&findings));
    (void)error_set(&error, ERROR_TRANSIENT, ERROR_DATABASE, "first");
    (void)error_hint(&error, "mend it");
    (void)error_mark_schema(&error);
    findings_add_error(&findings, &error);
    (void)findings_add(&findings, FINDING_ERROR, "second");
    assert_true(findings_have_error(&findings));
    assert_int_equal(findings_end(&findings, &error), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_string_equal(error.text, "first");
    assert_string_equal(error.hint, "mend it");
    assert_true(error.is_schema);
    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(findings_end(&findings, &error), 0);
}
