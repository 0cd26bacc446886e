#include "integration/capture.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *captured; /* NULL while nothing is captured */
static int real_stderr;

static void restore_stderr(void)
{
    (void)dup2(real_stderr, STDERR_FILENO);
    (void)close(real_stderr);
    rewind(captured);
}

static void show_what_is_left(void)
{
    int c;

    if (captured == NULL)
        return;
    restore_stderr();
    while ((c = fgetc(captured)) != EOF)
        (void)fputc(c, stderr);
    (void)fclose(captured);
    captured = NULL;
}

void capture_stderr(void)
{
    static bool at_exit;

    if (!at_exit)
        at_exit = atexit(show_what_is_left) == 0;
    assert_true(at_exit);
    show_what_is_left();
    captured = tmpfile();
    assert_non_null(captured);
    real_stderr = dup(STDERR_FILENO);
    assert_true(real_stderr >= 0);
    assert_int_equal(dup2(fileno(captured), STDERR_FILENO), STDERR_FILENO);
}

void expect_in_stderr(const char *words, int times)
{
    static char text[1024 * 1024];
    int count = 0;

    restore_stderr();
    text[fread(text, 1, sizeof text - 1, captured)] = '\0';
    assert_true(feof(captured));
    (void)fclose(captured);
    captured = NULL;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    if (count != times)
        fail_msg("\"%s\" is there %d times instead of %d: %s", words, count, times, text);
}
