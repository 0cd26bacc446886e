#include "unit/config/parsed.h"

#include "support/reference.h"

TEST(the_sample_equals_the_defaults)
{
    struct parsed *sample = parse_accepted(config_sample());
    struct parsed *defaults = parse_accepted("[sink.out]\ntype = \"stdout\"\n");
    char *sample_text = printed(&sample->config);
    char *default_text = printed(&defaults->config);

    assert_int_equal(sample->problems.warning_count, 0);
    assert_string_equal(sample_text, default_text);
    free(sample_text);
    free(default_text);
    free_parsed(sample);
    free_parsed(defaults);
}

TEST(every_key_and_section_is_in_the_sample_with_its_default_and_what_it_means)
{
    struct reference_help help;

    for (int i = 0; i < SECTION_COUNT; i++)
        if (!reference_find(&help, (enum section)i, NULL) || help.text[0] == '\0')
            fail_msg("[%s] is missing, or its comment", section_title((enum section)i));
    for (size_t i = 0; i < key_count; i++) {
        const char *quote = value_is_quoted(&keys[i]) ? "\"" : "";
        char expected[128];

        if (!reference_find(&help, keys[i].section, keys[i].name) || help.text[0] == '\0')
            fail_msg("%s is missing, or its comment", keys[i].name);
        if (keys[i].initial == NULL || help.is_example)
            continue;
        (void)snprintf(expected, sizeof expected, "%s%s%s", quote, keys[i].initial, quote);
        assert_string_equal(help.shown, expected);
    }
}

static bool is_example(const char *line)
{
    size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz_\".");

    return strncmp(line, "[", 1) == 0 || (len > 0 && strncmp(line + len, " = ", 3) == 0);
}

/* The sample's keys and examples, all switched on; not valid: it logs in to NATS in every way. */
static char *all_examples(void)
{
    const char *sample = config_sample();
    char *text = calloc(strlen(sample) + 1, 1);
    size_t used = 0;

    assert_non_null(text);
    for (const char *line = sample; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *example = strncmp(line, "# ", 2) == 0 ? line + 2 : line;
        size_t len = strcspn(example, "\n") + 1;

        /* The second url is the one that is active. */
        if (!is_example(example) || strncmp(line, "# url", 5) == 0)
            continue;
        memcpy(text + used, example, len);
        used += len;
    }
    return text;
}

TEST(every_example_in_the_sample_is_a_real_key)
{
    char *text = all_examples();
    struct parsed *parsed = parse_text(text);

    for (int i = 0; i < parsed->problems.count; i++)
        if (strstr(parsed->problems.lines[i], "keep only one of them") == NULL &&
            strstr(parsed->problems.lines[i], "is not set") == NULL)
            fail_msg("%s", parsed->problems.lines[i]);
    assert_int_equal(parsed->config.relay.sink_count, 3);
    free_parsed(parsed);
    free(text);
}

static void parse_bytes(const char *text, size_t len)
{
    struct config config;
    struct config_problems problems;
    /* Of its exact size, so that a sanitizer sees a byte read too many. */
    char *copy = malloc(len == 0 ? 1 : len);

    assert_non_null(copy);
    memcpy(copy, text, len);
    if (config_parse(&config, "cut", copy, len, &problems) < 0)
        assert_true(problems.count > 0);
    config_free(&config);
    config_problems_free(&problems);
    free(copy);
}

TEST(a_sample_cut_anywhere_never_crashes)
{
    const char *sample = config_sample();
    char *text = all_examples();

    for (size_t cut = 0; cut <= strlen(sample); cut++)
        parse_bytes(sample, cut);
    for (size_t cut = 0; cut <= strlen(text); cut++)
        parse_bytes(text, cut);
    free(text);
}
