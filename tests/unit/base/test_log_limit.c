#include "base/log_limit.h"
#include "unit/logged.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define START_MS 5000000
#define THREADS 4
#define LINES_A_THREAD 1000

static struct log_limit limits[16]; /* static, because the list of all limits keeps them */
static struct log_limit *limit;     /* of this test */

static int set_up(void **state)
{
    (void)state;
    limit = limit == NULL ? limits : limit + 1;
    assert_true(limit < limits + sizeof limits / sizeof *limits);
    limit->lines = "warnings of the database";
    log_to_file();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forget_logged();
    log_configure(LOG_ERROR, LOG_TEXT);
    log_limit_flush(START_MS); /* no count is left for the next test */
    return 0;
}

FIXTURE(set_up, tear_down)

TEST(the_same_text_is_written_once_a_minute)
{
    for (int i = 0; i < 3000; i++)
        log_limit_line(limit, LOG_WARN, START_MS + i, "row %d is odd", i);
    log_limit_line(limit, LOG_WARN, START_MS + LOG_LIMIT_MS, "row 9 is odd");
    assert_int_equal(count_words(logged(), "is odd"), 2);
    assert_int_equal(
        count_words(logged_text, "2999 more warnings of the database in the last 60 s"), 1);
    assert_int_equal(count_words(logged_text, "\n"), 3);
}

TEST(a_minute_takes_no_more_than_so_many_texts)
{
    for (int i = 0; i < 1000; i++)
        log_limit_line(limit, LOG_WARN, START_MS + i, "%c%c", 'a' + i / 26 % 26, 'a' + i % 26);
    log_limit_tick(START_MS + LOG_LIMIT_MS);
    assert_int_equal(count_words(logged(), "\n"), LOG_LIMIT_TEXTS + 1);
}

TEST(a_source_that_falls_silent_is_counted_when_its_minute_ends)
{
    log_limit_line(limit, LOG_WARN, START_MS, "text");
    log_limit_line(limit, LOG_WARN, START_MS, "text");
    log_limit_tick(START_MS + LOG_LIMIT_MS - 1);
    log_limit_tick(START_MS + LOG_LIMIT_MS);
    log_limit_tick(START_MS + 3 * LOG_LIMIT_MS);
    assert_int_equal(count_words(logged(), "1 more warnings of the database in the last 60 s"), 1);
    assert_int_equal(count_words(logged_text, "\n"), 2);
}

TEST(what_is_left_is_counted_at_the_end)
{
    log_limit_line(limit, LOG_WARN, START_MS, "text");
    log_limit_line(limit, LOG_WARN, START_MS, "text");
    log_limit_flush(START_MS + 10);
    log_limit_line(limit, LOG_WARN, START_MS, "text");
    log_limit_flush(START_MS + 20);
    log_limit_flush(START_MS + 30);
    assert_int_equal(count_words(logged(), "1 more warnings"), 2);
    assert_int_equal(count_words(logged_text, "\n"), 3);
}

TEST(each_source_has_its_own_limit)
{
    static struct log_limit other = {.lines = "lines of another"};

    for (int i = 0; i < 2; i++) {
        log_limit_line(limit, LOG_WARN, START_MS, "text");
        log_limit_line(&other, LOG_WARN, START_MS, "text");
    }
    log_limit_flush(START_MS);
    assert_int_equal(count_words(logged(), "=\"text\""), 2);
    assert_int_equal(count_words(logged_text, "1 more warnings of the database"), 1);
    assert_int_equal(count_words(logged_text, "1 more lines of another"), 1);
}

TEST(lines_written_elsewhere_are_taken_up_to_a_number_a_minute)
{
    int taken = 0;

    for (int i = 0; i < 1000; i++)
        taken += log_limit_takes(limit, 100, START_MS + i);
    assert_int_equal(taken, 100);
    assert_true(log_limit_takes(limit, 100, START_MS + LOG_LIMIT_MS));
    assert_int_equal(count_words(logged(), "900 more warnings of the database"), 1);
}

static void *flood(void *argument)
{
    for (int i = 0; i < LINES_A_THREAD; i++)
        log_limit_line(limit, LOG_WARN, START_MS, "%s %d", (const char *)argument, i);
    return NULL;
}

TEST(threads_lose_no_count)
{
    static const char *const texts[THREADS] = {"same", "same", "other", "other"};
    pthread_t threads[THREADS];
    int64_t held = 0;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, flood, (void *)(uintptr_t)texts[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    log_limit_flush(START_MS);
    for (const char *line = logged(); (line = strstr(line, "=warn msg=\"")) != NULL; line++)
        held += strtol(line + strlen("=warn msg=\""), NULL, 10);
    assert_int_equal(count_words(logged_text, "same"), 1);
    assert_int_equal(count_words(logged_text, "other"), 1);
    assert_int_equal(held, THREADS * LINES_A_THREAD - 2);
}
