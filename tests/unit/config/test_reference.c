/* docs/configuration.md states the keys as the program has them. Runs in the repository's root. */
#include "config/config.h"
#include "support/reference.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char *read_page(void)
{
    FILE *file = fopen("docs/configuration.md", "r");
    char *text = NULL;
    size_t size = 0;

    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    (void)fclose(file);
    return text;
}

TEST(the_page_on_configuration_holds_the_current_reference_of_all_keys)
{
    char *page = read_page();
    char *reference = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&reference, &len);

    assert_non_null(out);
    reference_print(out);
    assert_int_equal(fclose(out), 0);
    assert_true(len > 1000);
    if (strstr(page, reference) == NULL)
        fail_msg("docs/configuration.md is not current: run `make readme`");
    free(reference);
    free(page);
}
