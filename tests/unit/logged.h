#ifndef UNIT_LOGGED_H
#define UNIT_LOGGED_H

/* Unit tests of what is logged: a file stands in the place of stderr until logged() is called. */

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static FILE *logged_file;
static int logged_stderr = -1; /* what stderr was; -1: it is so now */
static char *logged_text;

static inline void log_to_file(void)
{
    log_configure(LOG_INFO, LOG_TEXT);
    logged_file = tmpfile();
    assert_non_null(logged_file);
    logged_stderr = dup(STDERR_FILENO);
    assert_true(dup2(fileno(logged_file), STDERR_FILENO) >= 0);
}

static inline void log_to_stderr(void)
{
    if (logged_stderr < 0)
        return;
    (void)dup2(logged_stderr, STDERR_FILENO);
    (void)close(logged_stderr);
    logged_stderr = -1;
}

/* All that has been logged. From here on stderr is what it was. */
static inline const char *logged(void)
{
    size_t len;

    log_to_stderr();
    len = (size_t)lseek(fileno(logged_file), 0, SEEK_END);
    free(logged_text);
    logged_text = calloc(1, len + 1);
    assert_non_null(logged_text);
    assert_int_equal(pread(fileno(logged_file), logged_text, len, 0), len);
    return logged_text;
}

static inline void forget_logged(void)
{
    log_to_stderr();
    (void)fclose(logged_file);
    free(logged_text);
    logged_text = NULL;
}

static inline int count_words(const char *text, const char *words)
{
    int times = 0;

    for (; (text = strstr(text, words)) != NULL; text++)
        times++;
    return times;
}

#endif
