#include "base/finding.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

TEST(findings_stand_in_order_with_level_text_and_fix)
{
    struct findings findings;
    struct finding *finding;

    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(findings.count, 0);
    findings_add(&findings, FINDING_OK, "connected to %s", "shop");
    finding = findings_add(&findings, FINDING_ERROR, "no index on %s", "outbox");
    (void)snprintf(finding->fix, sizeof finding->fix, "CREATE INDEX");
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.items[0].level, FINDING_OK);
    assert_string_equal(findings.items[0].text, "connected to shop");
    assert_string_equal(findings.items[0].fix, "");
    assert_int_equal(findings.items[1].level, FINDING_ERROR);
    assert_string_equal(findings.items[1].fix, "CREATE INDEX");
    findings_free(&findings);
}

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
