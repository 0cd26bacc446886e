#include "base/log.h"
#include "test.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <pty.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/*
 * Each test puts a pipe in the place of stderr, logs, puts stderr back, and only then asserts: the
 * test's own failures are written to stderr too. alarm(2) would end a log call that blocked.
 */

#define BLOCKED_AFTER_S 20
#define LINE_BYTES_MAX 4096
#define SECOND "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
#define WHEN "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"
#define HEARD " level=info msg=\"heard\"\n$"

struct capture {
    int in; /* the pipe's reading end, non-blocking */
    int stderr_before;
    char text[65536 + 1];
    size_t len;
};

static struct capture capture;

static void capture_from(int ends[2])
{
    capture.in = ends[0];
    capture.len = 0;
    assert_int_equal(fcntl(capture.in, F_SETFL, O_NONBLOCK), 0);
    capture.stderr_before = dup(STDERR_FILENO);
    assert_true(capture.stderr_before >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    (void)alarm(BLOCKED_AFTER_S);
}

static void capture_begin(void)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    capture_from(ends);
}

static void capture_terminal(void)
{
    int ends[2];
    struct termios raw;

    assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(ends[1], &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(ends[1], TCSANOW, &raw), 0);
    capture_from(ends);
}

static void capture_discard(void)
{
    while (read(capture.in, capture.text, sizeof capture.text) > 0)
        ;
}

static const char *capture_end(void)
{
    ssize_t got = 1;

    (void)alarm(0);
    while (got > 0 && capture.len < sizeof capture.text - 1) {
        got = read(capture.in, capture.text + capture.len, sizeof capture.text - 1 - capture.len);
        capture.len += got > 0 ? (size_t)got : 0;
    }
    capture.text[capture.len] = '\0';
    (void)dup2(capture.stderr_before, STDERR_FILENO);
    (void)close(capture.stderr_before);
    (void)close(capture.in);
    return capture.text;
}

/* Fills the pipe until it takes no byte more. Returns how many bytes it took. */
static size_t fill_pipe(void)
{
    static const char filler[4096];
    size_t filled = 0;
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    ssize_t wrote;

    (void)fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    for (size_t step = sizeof filler; step > 0; step /= 2)
        while ((wrote = write(STDERR_FILENO, filler, step)) > 0)
            filled += (size_t)wrote;
    (void)fcntl(STDERR_FILENO, F_SETFL, flags);
    return filled;
}

static int configure(void **state)
{
    (void)state;
    log_configure(LOG_INFO, LOG_TEXT);
    return 0;
}

FIXTURE(configure, NULL)

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    bool found;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static json_t *capture_json(void)
{
    json_t *line = json_loads(capture_end(), 0, NULL);

    assert_non_null(line);
    assert_int_equal(count_lines(capture.text), 1);
    return line;
}

static const char *member(const json_t *line, const char *name)
{
    return json_string_value(json_object_get(line, name));
}

/* All that a line can be about. */
static const struct log_fields everything = {.lane = 7,
                                             .sink = "events",
                                             .destination = {"shop order", 10},
                                             .row = {"-42", 3},
                                             .error = "a=\"b\"",
                                             .hint = "GRANT\nALL",
                                             .since_ms = 1769897700123};

TEST(on_a_terminal_a_line_is_a_sentence_and_its_remedy)
{
    capture_terminal();
    log_event(LOG_WARN, &everything, "it is %d", 1);
    log_event(LOG_ERROR, LOG_FIELDS(.error = "\x1b[2J"), "the relay ends");
    log_info("heard");
    log_configure(LOG_INFO, LOG_LOGFMT);
    log_info("heard");
    assert_true(matches(capture_end(),
                        "^" SECOND " warn: it is 1: a=\"b\" \\(lane 7, sink events,"
                        " shop order, row -42, since 2026-01-31T22:15:00\\.000Z\\)\n"
                        "  fix: GRANT\\\\nALL\n" SECOND
                        " error: the relay ends: \\\\x1b\\[2J\n" SECOND " info: heard\n"
                        "time=" WHEN HEARD));
}

TEST(fields_follow_the_message_in_text)
{
    capture_begin();
    log_event(LOG_INFO, &everything, "it is %d", 1);
    assert_non_null(strstr(capture_end(),
                           " level=info msg=\"it is 1\" lane=7 sink=events"
                           " destination=\"shop order\" row=-42 error=\"a=\\\"b\\\"\""
                           " hint=\"GRANT\\nALL\" since=2026-01-31T22:15:00.123Z\n"));
}

TEST(fields_are_members_in_json)
{
    json_t *line;

    log_configure(LOG_INFO, LOG_JSON);
    capture_begin();
    log_event(LOG_INFO, &everything, "it is");
    line = capture_json();
    assert_int_equal(json_object_size(line), 10);
    assert_int_equal(json_integer_value(json_object_get(line, "lane")), 7);
    assert_string_equal(member(line, "sink"), "events");
    assert_string_equal(member(line, "destination"), "shop order");
    assert_string_equal(member(line, "row"), "-42");
    assert_string_equal(member(line, "error"), "a=\"b\"");
    assert_string_equal(member(line, "hint"), "GRANT\nALL");
    assert_string_equal(member(line, "since"), "2026-01-31T22:15:00.123Z");
    json_decref(line);
}

TEST(a_field_that_is_not_given_is_not_written)
{
    capture_begin();
    log_event(LOG_INFO, LOG_FIELDS(.hint = ""), "bare");
    assert_true(matches(capture_end(), "^time=" WHEN " level=info msg=\"bare\"\n$"));
}

/* Whatever is cut, the line is one, ends, and is valid. */
TEST(fields_without_end_are_cut)
{
    static char much[3][6000];

    memset(much[0], 'x', sizeof much[0] - 1);
    memset(much[1], '"', sizeof much[1] - 1);
    memset(much[2], 1, sizeof much[2] - 1);
    for (int i = 0; i < 3; i++) {
        const struct log_fields fields = {.lane = 64,
                                          .sink = much[i],
                                          .destination = text_of(much[i]),
                                          .row = text_of(much[i]),
                                          .error = much[i],
                                          .hint = much[i],
                                          .since_ms = 1769897700123};

        log_configure(LOG_INFO, LOG_JSON);
        capture_begin();
        log_event(LOG_ERROR, &fields, "%s", much[i]);
        json_decref(capture_json());
        assert_in_range(capture.len, LINE_BYTES_MAX / 2, LINE_BYTES_MAX);
        log_configure(LOG_INFO, LOG_TEXT);
        capture_begin();
        log_event(LOG_ERROR, &fields, "%s", much[i]);
        assert_int_equal(count_lines(capture_end()), 1);
        assert_in_range(capture.len, LINE_BYTES_MAX / 2, LINE_BYTES_MAX);
        assert_non_null(strstr(capture.text, " since=2026-01-31T22:15:00.123Z\n"));
    }
}

TEST(a_message_is_one_line_whatever_it_holds)
{
    const char *text;

    capture_begin();
    log_info("topic \"%s\"", "a\nfake line\r\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE\xFF");
    text = capture_end();
    assert_int_equal(count_lines(text), 1);
    assert_non_null(
        strstr(text, "\\\"a\\nfake line\\u000d\\u001b[2J\\u007f\\u009b\\u202e\\ufffd\\\""));
}

TEST(json_lines_are_valid_whatever_bytes_they_hold)
{
    log_configure(LOG_INFO, LOG_JSON);
    for (int byte = 1; byte <= 0xFF; byte++) {
        capture_begin();
        log_info("<%c>", byte);
        json_decref(capture_json());
    }
}

TEST(lines_below_the_level_are_not_written)
{
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        log_configure((enum log_level)level, LOG_TEXT);
        capture_begin();
        log_error("e");
        log_warn("w");
        log_info("i");
        log_debug("d");
        assert_int_equal(count_lines(capture_end()), level + 1);
        for (int other = LOG_ERROR; other <= LOG_DEBUG; other++)
            assert_int_equal(log_wants((enum log_level)other), other <= level);
    }
}

TEST(a_full_pipe_drops_lines_and_never_blocks)
{
    const char *text;
    size_t filled;

    capture_begin();
    filled = fill_pipe();
    for (int i = 0; i < 3; i++)
        log_info("lost %d", i);
    capture_discard();
    log_info("heard");
    text = capture_end();
    assert_true(filled >= 4096);
    assert_true(
        matches(text, "^time=" WHEN " level=warn [^\n]*3 log lines[^\n]*\ntime=" WHEN HEARD));
}

TEST(the_count_of_dropped_lines_is_logged_once)
{
    capture_begin();
    (void)fill_pipe();
    log_info("lost");
    capture_discard();
    log_info("heard");
    capture_discard();
    log_info("heard again");
    assert_true(matches(capture_end(), "^time=" WHEN " level=info msg=\"heard again\"\n$"));
}

TEST(lines_that_fail_to_be_written_count_as_dropped)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    const char *text;

    capture_begin();
    (void)close(capture.in);
    for (int i = 0; i < 5; i++)
        log_info("nobody reads %d", i);
    (void)dup2(capture.stderr_before, STDERR_FILENO);
    (void)close(capture.stderr_before);
    (void)signal(SIGPIPE, before);
    capture_begin();
    log_info("heard");
    text = capture_end();
    assert_true(
        matches(text, "^time=" WHEN " level=warn [^\n]*5 log lines[^\n]*\ntime=" WHEN HEARD));
}

static void *log_many(void *name)
{
    for (int i = 0; i < 50; i++)
        log_info("%s %02d end", (const char *)name, i);
    return NULL;
}

TEST(lines_of_threads_do_not_mix)
{
    static char names[][8] = {"aaaa", "bbbb", "cccc", "dddd"};
    pthread_t threads[4];
    const char *text;

    capture_begin();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, names[i]), 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    text = capture_end();
    assert_int_equal(count_lines(text), 4 * 50);
    assert_true(matches(text, "^(time=" WHEN
                              " level=info msg=\"(aaaa|bbbb|cccc|dddd) [0-9][0-9] end\"\n){200}$"));
}
