/* docs/configuration.md states the keys as the program has them. Runs in the repository's root. */
#include "config/config.h"
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

static void the_page_on_configuration_holds_the_current_reference_of_all_keys(void **state)
{
    char *page = read_page();
    char *reference = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&reference, &len);

    (void)state;
    assert_non_null(out);
    config_print_reference(out);
    assert_int_equal(fclose(out), 0);
    assert_true(len > 1000);
    if (strstr(page, reference) == NULL)
        fail_msg("docs/configuration.md is not current: run `make readme`");
    free(reference);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_on_configuration_holds_the_current_reference_of_all_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
