#include "unit/broker/fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];
static struct error error;

static int setup(void **state)
{
    (void)state;
    error = (struct error){0};
    (void)snprintf(folder, sizeof folder, "/tmp/test_broker.XXXXXX");
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
    assert_says(&error, path);
    assert_says(&error, why);
}

static void each_type_finds_its_client(void **state)
{
    (void)state;
    assert_string_equal(broker_ops_find("kafka")->type, "kafka");
    assert_string_equal(broker_ops_find("nats")->type, "nats");
    assert_string_equal(broker_ops_find("stdout")->type, "stdout");
    assert_null(broker_ops_find("rabbitmq"));
    assert_null(broker_ops_find(NULL));
}

static void an_unknown_type_names_the_known_ones(void **state)
{
    struct sink_options options = sink_of_type("rabbitmq");

    (void)state;
    assert_null(broker_open(&options, &error));
    assert_says(&error, "\"kafka\", \"nats\", \"stdout\"");
    broker_close(NULL);
}

static void without_an_allow_list_every_destination_is_allowed(void **state)
{
    struct sink_options options = sink_of_type("stdout");

    (void)state;
    assert_true(sink_allows(&options, text_of("shop.order")));
}

static void an_allow_list_takes_what_one_of_its_patterns_takes(void **state)
{
    struct sink_options options = sink_of_type("stdout");

    (void)state;
    allow(&options, "shop.>");
    allow(&options, "audit");
    assert_true(sink_allows(&options, text_of("shop.order")));
    assert_true(sink_allows(&options, text_of("audit")));
    assert_false(sink_allows(&options, text_of("shop")));
    assert_false(sink_allows(&options, text_of("other.order")));
    allow_nothing_more(&options);
}

static void patterns_are_told_from_names(void **state)
{
    (void)state;
    assert_true(sink_pattern("shop.>"));
    assert_true(sink_pattern("shop.*.new"));
    assert_true(sink_pattern("re:^shop"));
    assert_false(sink_pattern("shop.order"));
}

static void a_secret_loses_its_line_end_and_nothing_else(void **state)
{
    (void)state;
    assert_secret("s3cret", "s3cret");
    assert_secret("s3cret\n", "s3cret");
    assert_secret("s3cret\r\n", "s3cret");
    assert_secret(" s3 cret \n", " s3 cret ");
}

static void an_empty_secret_is_refused(void **state)
{
    (void)state;
    write_file("", 0);
    assert_no_secret("empty");
    write_file("\n", 1);
    assert_no_secret("empty");
}

static void a_missing_file_and_a_folder_are_refused(void **state)
{
    (void)state;
    assert_no_secret("No such file");
    assert_null(secret_read(folder, &error));
    assert_says(&error, "not a regular file");
}

static void a_refused_secret_is_never_quoted(void **state)
{
    (void)state;
    write_file("CANARY\nsecond\n", 14);
    assert_no_secret("one line");
    assert_null(strstr(error.text, "CANARY"));
    write_file("CANARY\0tail", 11);
    assert_no_secret("one line");
    assert_null(strstr(error.text, "CANARY"));
}

static void a_secret_of_more_than_64_kib_is_refused(void **state)
{
    size_t len = 65536;
    char *large = malloc(len + 1);
    char *secret;

    (void)state;
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

static void a_secret_comes_through_a_fifo(void **state)
{
    pthread_t writer;
    char *secret;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, NULL), 0);
    secret = secret_read(path, &error);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_non_null(secret);
    assert_string_equal(secret, "piped");
    secret_free(secret);
}

static void a_fifo_that_nobody_writes_does_not_hang(void **state)
{
    int64_t started_ms = clock_now_ms();

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_no_secret("nothing was written");
    assert_true(clock_now_ms() - started_ms < 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_finds_its_client),
        cmocka_unit_test(an_unknown_type_names_the_known_ones),
        cmocka_unit_test(without_an_allow_list_every_destination_is_allowed),
        cmocka_unit_test(an_allow_list_takes_what_one_of_its_patterns_takes),
        cmocka_unit_test(patterns_are_told_from_names),
        cmocka_unit_test_setup_teardown(a_secret_loses_its_line_end_and_nothing_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_empty_secret_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_file_and_a_folder_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_secret_is_never_quoted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_of_more_than_64_kib_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_comes_through_a_fifo, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fifo_that_nobody_writes_does_not_hang, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
