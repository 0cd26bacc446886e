#include "unit/config/parsed.h"

#include "config/keys/keys.h"
#include "config/keys/value.h"

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

/* The line of a key behind `part`; `commented` when it begins with "# ". */
static const char *find_line(const char *part, const char *name, bool *commented)
{
    for (const char *line = part; line != NULL && *line != '\0';) {
        const char *text = strncmp(line, "# ", 2) == 0 ? line + 2 : line;

        if (strncmp(text, name, strlen(name)) == 0 && strncmp(text + strlen(name), " = ", 3) == 0) {
            *commented = text != line;
            return text;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

/* Where the sample's part on a section begins. */
static const char *find_part(enum section section)
{
    static const char *const marks[SECTION_COUNT] = {
        [SECTION_DATABASE] = "\n[database]",
        [SECTION_OUTBOX] = "\n[outbox]",
        [SECTION_COLUMNS] = "\n[outbox.columns]",
        [SECTION_ROW_HEADERS] = "\n# [outbox.headers]",
        [SECTION_RELAY] = "\n[relay]",
        [SECTION_RETRY] = "\n[retry]",
        [SECTION_SINK] = "\n[sink.",
        [SECTION_PROPERTIES] = "\n# [sink.events.properties]",
        [SECTION_HEADERS] = "\n# [sink.bus.headers]",
        [SECTION_CLOUDEVENTS] = "\n# [cloudevents]",
        [SECTION_ATTRIBUTES] = "\n# [cloudevents.attributes]",
        [SECTION_ROUTE] = "\n# [[route]]",
        [SECTION_HTTP] = "\n[http]",
        [SECTION_LOG] = "\n[log]"};

    return strstr(config_sample(), marks[section]);
}

TEST(every_key_is_in_the_sample_with_its_default)
{
    for (size_t i = 0; i < key_count; i++) {
        const char *quote = value_is_quoted(&keys[i]) ? "\"" : "";
        const char *part = find_part(keys[i].section);
        char expected[128];
        bool commented = false;
        const char *line;

        assert_non_null(part);
        line = find_line(part + 1, keys[i].name, &commented);
        if (line == NULL)
            fail_msg("%s is missing", keys[i].name);
        if (keys[i].initial == NULL || commented)
            continue;
        (void)snprintf(expected, sizeof expected, "%s = %s%s%s\n", keys[i].name, quote,
                       keys[i].initial, quote);
        assert_int_equal(strncmp(line, expected, strlen(expected)), 0);
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
