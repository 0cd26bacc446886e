#include "config/config.h"
#include "fuzz.h"

#include <stdlib.h>

/*
 * Input: a configuration file. It is accepted without a problem or refused with at least one; a
 * problem is one safe line that names the file; what is printed of an accepted one is accepted
 * again and prints the same.
 */

#define NAME "fuzz.toml"

static void check_line(const char *line)
{
    size_t len = strlen(line);

    EXPECT(strncmp(line, NAME ":", strlen(NAME ":")) == 0);
    EXPECT(text_is_utf8(line, len));
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)line[i];

        EXPECT(byte >= 0x20 && byte != 0x7F);
        EXPECT(byte != 0xC2 || (unsigned char)line[i + 1] >= 0xA0);
    }
}

static void check_problems(const struct config_problems *problems, int result)
{
    EXPECT(problems->count >= 0 && problems->count <= CONFIG_PROBLEMS_MAX);
    EXPECT(problems->warning_count >= 0 && problems->warning_count <= CONFIG_PROBLEMS_MAX);
    EXPECT((result == 0) == (problems->count == 0));
    for (int i = 0; i < problems->count; i++)
        check_line(problems->lines[i]);
    for (int i = 0; i < problems->warning_count; i++)
        check_line(problems->warnings[i]);
}

static char *print(const struct config *config, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    EXPECT(out != NULL);
    config_print(config, out);
    EXPECT(fclose(out) == 0);
    return text;
}

static void check_printed(const struct config *config)
{
    struct config again;
    struct config_problems problems;
    size_t len;
    size_t len_again;
    char *text = print(config, &len);
    char *text_again;

    if (config_parse(&again, NAME, text, len, &problems) != 0) {
        (void)fprintf(stderr, "%s\n%s\n", text, problems.lines[0]);
        abort();
    }
    text_again = print(&again, &len_again);
    if (len_again != len || memcmp(text_again, text, len) != 0) {
        (void)fprintf(stderr, "%s\n----\n%s\n", text, text_again);
        abort();
    }
    config_free(&again);
    config_problems_free(&problems);
    free(text);
    free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text text = {fuzz_bytes((struct text){(const char *)data, size}), size};
    struct config config;
    struct config_problems problems;
    int result = config_parse(&config, NAME, text.data, text.len, &problems);

    EXPECT(result == 0 || result == -1);
    check_problems(&problems, result);
    if (result == 0)
        check_printed(&config);
    config_free(&config);
    config_problems_free(&problems);
    free((char *)text.data);
    return 0;
}
