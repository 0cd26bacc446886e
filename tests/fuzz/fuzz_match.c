#include "fuzz.h"
#include "route/match.h"

/*
 * Input: the pattern, then the topic. A pattern by tokens agrees with a second, recursive reading
 * of the rules; a regular expression sees nothing of a topic that holds a NUL.
 */

#define WHY_BYTES 160
#define REGEX_BYTES_MAX                                                                            \
    40 /* the configuration's author is trusted; the C library's compiler is not                   \
          asked to survive nested repetition */

static bool token_is(struct text text, size_t len, char c)
{
    return len == 1 && text.data[0] == c;
}

static size_t token_len(struct text text)
{
    const char *dot = text.len > 0 ? memchr(text.data, '.', text.len) : NULL;

    return dot != NULL ? (size_t)(dot - text.data) : text.len;
}

static struct text behind(struct text text, size_t len)
{
    return (struct text){text.data + len + 1, text.len - len - 1};
}

static bool model(struct text pattern, struct text topic)
{
    size_t want = token_len(pattern);
    size_t have = token_len(topic);

    if (token_is(pattern, pattern.len, '>'))
        return topic.len > 0;
    if (have == 0)
        return false;
    if (!token_is(pattern, want, '*') &&
        (want != have || memcmp(pattern.data, topic.data, want) != 0))
        return false;
    if (want == pattern.len || have == topic.len)
        return want == pattern.len && have == topic.len;
    return model(behind(pattern, want), behind(topic, have));
}

/* Every token has a byte, and ">" is allowed only at the end. */
static bool is_well_formed(struct text pattern)
{
    size_t len = token_len(pattern);

    if (len == 0)
        return false;
    if (len == pattern.len)
        return true;
    return !token_is(pattern, len, '>') && is_well_formed(behind(pattern, len));
}

static void check_tokens(const struct match *match, struct text topic)
{
    bool want = topic.data != NULL && model(text_of(match->source), topic);

    EXPECT(match_topic(match, topic) == want);
    if (strpbrk(match->source, "*>") == NULL)
        EXPECT(match_topic(match, text_of(match->source)));
}

static void check_regex(const struct match *match, struct text topic)
{
    bool matched = match_topic(match, topic);

    EXPECT(matched == match_topic(match, topic));
    EXPECT(!matched || topic.data != NULL);
    EXPECT(!matched || topic.len == 0 || memchr(topic.data, '\0', topic.len) == NULL);
}

static bool is_cheap(const char *source)
{
    return strncmp(source, "re:", 3) != 0 ||
           (strlen(source) <= REGEX_BYTES_MAX && strpbrk(source, "{\\") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {(const char *)data, size};
    char *source = fuzz_string(input_take(&input));
    struct text part = input_take(&input);
    struct text topic = {part.data != NULL ? fuzz_bytes(part) : NULL, part.len};
    struct match match;
    char why[WHY_BYTES] = "";
    bool regex = strncmp(source, "re:", 3) == 0;

    if (is_cheap(source)) {
        if (match_parse(&match, source, why, sizeof why) == 0) {
            EXPECT(match.is_regex == regex);
            EXPECT(regex || is_well_formed(text_of(source)));
            if (regex)
                check_regex(&match, topic);
            else
                check_tokens(&match, topic);
            match_free(&match);
        } else {
            EXPECT(why[0] != '\0' && memchr(why, '\0', sizeof why) != NULL);
            EXPECT(regex || !is_well_formed(text_of(source)));
        }
    }
    free(source);
    free((char *)topic.data);
    return 0;
}
