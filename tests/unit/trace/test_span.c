#include "trace/span.h"

#include "test.h"

#include <string.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static bool reads(const char *traceparent, struct span_parent *parent)
{
    return span_read_parent(text_of(traceparent), parent);
}

TEST(a_sampled_traceparent_names_its_trace_and_its_span)
{
    static const char *const sampled[] = {
        "00-" TRACE "-" PARENT "-01", "00-" TRACE "-" PARENT "-ff", "00-" TRACE "-" PARENT "-03",
        "01-" TRACE "-" PARENT "-01",     /* a later version has these fields first */
        "fe-" TRACE "-" PARENT "-01-more" /* and others behind them */
    };

    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
        struct span_parent parent;

        if (!reads(sampled[i], &parent))
            fail_msg("%s", sampled[i]);
        assert_string_equal(parent.trace_id, TRACE);
        assert_string_equal(parent.id, PARENT);
    }
}

TEST(what_is_not_sampled_or_not_valid_makes_no_span)
{
    static const char *const refused[] = {
        "00-" TRACE "-" PARENT "-00",
        "00-" TRACE "-" PARENT "-02",
        "",
        "00",
        "ff-" TRACE "-" PARENT "-01",
        "0-" TRACE "-" PARENT "-01",
        "00-" TRACE "-" PARENT "-1",
        "00-" TRACE "-" PARENT "-0g",
        "00-" TRACE "-" PARENT "-01-",
        "00-" TRACE "-" PARENT "-011",
        "01-" TRACE "-" PARENT "-01x",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        " 00-" TRACE "-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-" TRACE "-00F067AA0BA902B7-01",
        "00-\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff-" PARENT "-01",
    };
    struct span_parent parent;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (reads(refused[i], &parent))
            fail_msg("%s", refused[i]);
    assert_false(span_read_parent((struct text){NULL, 0}, &parent));
}

TEST(a_tracestate_is_printable_and_not_too_long)
{
    char text[SPAN_STATE_BYTES];

    memset(text, 'a', sizeof text);
    assert_true(span_takes_state(text_of("rojo=1,congo=\"2\"")));
    assert_true(span_takes_state((struct text){text, sizeof text - 1}));
    assert_false(span_takes_state((struct text){text, sizeof text}));
    assert_false(span_takes_state(text_of("a=\n")));
    assert_false(span_takes_state(text_of("a=\xc3\xa9")));
    assert_false(span_takes_state((struct text){NULL, 0}));
}

TEST(a_text_is_cut_between_characters)
{
    char out[4];

    span_copy(out, sizeof out, text_of("ab\xc3\xa9"));
    assert_string_equal(out, "ab");
    span_copy(out, sizeof out, text_of("abc"));
    assert_string_equal(out, "abc");
    span_copy(out, sizeof out, (struct text){NULL, 0});
    assert_string_equal(out, "");
}
