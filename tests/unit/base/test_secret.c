#include "base/secret.h"

#include "base/clock.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];
static struct error error;

static int setup(void **state)
{
    (void)state;
    error = (struct error){0};
    (void)snprintf(folder, sizeof folder, "/tmp/test_secret.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/secret", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

FIXTURE(setup, teardown)

static void write_file(const char *data, size_t len)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void assert_secret(const char *content, const char *expected)
{
    char *secret;

    write_file(content, strlen(content));
    secret = secret_read(path, &error);
    assert_non_null(secret);
    assert_string_equal(secret, expected);
    secret_free(secret);
}

static void assert_no_secret(const char *why)
{
    assert_null(secret_read(path, &error));
    assert_int_equal(error.origin, ERROR_CONFIG);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, why));
}

TEST(a_secret_loses_its_line_end_and_nothing_else)
{
    assert_secret("s3cret", "s3cret");
    assert_secret("s3cret\n", "s3cret");
    assert_secret("s3cret\r\n", "s3cret");
    assert_secret(" s3 cret \n", " s3 cret ");
}

TEST(an_empty_secret_is_refused)
{
    write_file("", 0);
    assert_no_secret("empty");
    write_file("\n", 1);
    assert_no_secret("empty");
}

TEST(a_missing_file_and_a_folder_are_refused)
{
    assert_no_secret("No such file");
    assert_null(secret_read(folder, &error));
    assert_non_null(strstr(error.text, "not a regular file"));
}

TEST(a_refused_secret_is_never_quoted)
{
    write_file("CANARY\nsecond\n", 14);
    assert_no_secret("one line");
    assert_null(strstr(error.text, "CANARY"));
    write_file("CANARY\0tail", 11);
    assert_no_secret("one line");
    assert_null(strstr(error.text, "CANARY"));
}

TEST(a_secret_of_more_than_64_kib_is_refused)
{
    size_t len = 65536;
    char *large = malloc(len + 1);
    char *secret;

    assert_non_null(large);
    memset(large, 'x', len + 1);
    write_file(large, len);
    secret = secret_read(path, &error);
    assert_non_null(secret);
    assert_int_equal(strlen(secret), len);
    secret_free(secret);
    write_file(large, len + 1);
    assert_no_secret("64 KiB");
    free(large);
}

static void *write_slowly(void *unused)
{
    int fd = open(path, O_WRONLY);

    (void)unused;
    if (fd >= 0 && write(fd, "pip", 3) == 3 && write(fd, "ed\n", 3) == 3)
        (void)close(fd);
    return NULL;
}

TEST(a_secret_comes_through_a_fifo)
{
    pthread_t writer;
    char *secret;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, NULL), 0);
    secret = secret_read(path, &error);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_non_null(secret);
    assert_string_equal(secret, "piped");
    secret_free(secret);
}

TEST(a_fifo_that_nobody_writes_does_not_hang)
{
    int64_t started_ms = clock_now_ms();

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_no_secret("nothing was written");
    assert_true(clock_now_ms() - started_ms < 4000);
}
