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
