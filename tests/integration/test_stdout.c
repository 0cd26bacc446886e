#include "base/clock.h"
#include "broker/broker.h"
#include "integration/publishing.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Standard output is a pipe during each test; a thread of the test reads it. */

#define BATCH 500
#define LANES 4

static int saved_stdout;
static int pipe_end;
static pthread_t reader;
static bool reading;
static char *output; /* all that was read, terminated */
static size_t output_len;

static void replace_stdout(int fd)
{
    (void)fflush(stdout);
    assert_return_code(dup2(fd, STDOUT_FILENO), 0);
    assert_int_equal(close(fd), 0);
}

static int ignore_signals(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    return 0;
}

ONCE(ignore_signals, NULL)

static int setup(void **state)
{
    int ends[2];

    (void)state;
    saved_stdout = dup(STDOUT_FILENO);
    if (saved_stdout < 0 || pipe(ends) < 0)
        return -1;
    replace_stdout(ends[1]);
    pipe_end = ends[0];
    options = sink_of_type("stdout");
    broker = broker_open(&options, NULL, &error);
    return broker == NULL ? -1 : batch_init(&batch, BATCH);
}

static void restore_stdout(void)
{
    if (saved_stdout < 0)
        return;
    replace_stdout(saved_stdout);
    saved_stdout = -1;
}

static void *read_to_the_end(void *unused)
{
    FILE *stream = open_memstream(&output, &output_len);
    char bytes[4096];
    ssize_t count;

    (void)unused;
    while ((count = read(pipe_end, bytes, sizeof bytes)) > 0)
        (void)fwrite(bytes, 1, (size_t)count, stream);
    (void)fclose(stream);
    return NULL;
}

static void start_reading(void)
{
    assert_int_equal(pthread_create(&reader, NULL, read_to_the_end, NULL), 0);
    reading = true;
}

/* Ends the pipe, so that the reader ends. */
static void finish_reading(void)
{
    restore_stdout();
    if (!reading)
        return;
    reading = false;
    assert_int_equal(pthread_join(reader, NULL), 0);
}

static int teardown(void **state)
{
    (void)state;
    finish_reading();
    (void)close(pipe_end);
    free(output);
    output = NULL;
    broker_close(broker);
    batch_free(&batch);
    allow_nothing_more(&options);
    return 0;
}

FIXTURE(setup, teardown)

/* How many lines there are; each must be one JSON object with this topic. */
static int count_lines(const char *topic)
{
    int count = 0;

    for (char *line = output; *line != '\0'; count++) {
        size_t len = strcspn(line, "\n");
        json_t *root = json_loadb(line, len, 0, NULL);

        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "topic")), topic);
        json_decref(root);
        assert_int_equal(line[len], '\n');
        line += len + 1;
    }
    return count;
}

TEST(a_batch_larger_than_the_pipe_arrives_whole)
{
    static char payload[20001];

    memset(payload, 'x', sizeof payload - 1);
    start_reading();
    for (int i = 0; i < BATCH; i++)
        (void)add_message(&batch, "t", NULL, payload);
    assert_int_equal(publish_within(WAIT_MS), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    finish_reading();
    assert_int_equal(count_lines("t"), BATCH);
    assert_true(output_len > BATCH * sizeof payload);
}

TEST(what_the_sink_does_not_take_is_rejected)
{
    start_reading();
    allow(&options, "in.>");
    (void)add_message(&batch, "out", NULL, "x");
    (void)add_message(&batch, "in.a", NULL, "x");
    add_message(&batch, "in.a", NULL, NULL)->payload_len = 200000000;
    assert_int_equal(publish_within(WAIT_MS), 0);
    assert_refused(&batch.messages[0], VERDICT_DECLINED, "allow list");
    assert_int_equal(batch.messages[1].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[2], VERDICT_REJECTED, "payload of 200000000 bytes");
}

struct lane {
    pthread_t thread;
    int number;
    bool failed;
};

static void *relay_one_batch(void *argument)
{
    struct lane *lane = argument;
    struct broker *own = broker_open(&options, NULL, &error);
    struct error own_error;
    struct batch own_batch;
    char payload[3000];

    memset(payload, 'a' + lane->number, sizeof payload);
    payload[sizeof payload - 1] = '\0';
    if (own == NULL || batch_init(&own_batch, BATCH) < 0) {
        lane->failed = true;
        return NULL;
    }
    for (int i = 0; i < BATCH; i++)
        (void)add_message(&own_batch, "t", NULL, payload);
    broker_send(own, &own_batch, SINK, clock_now_ms() + 5000);
    lane->failed = broker_await(own, &own_batch, SINK, clock_now_ms() + WAIT_MS, &own_error) < 0 ||
                   count_verdicts(&own_batch, VERDICT_SENT) != BATCH;
    broker_close(own);
    batch_free(&own_batch);
    return NULL;
}

TEST(lines_of_several_lanes_do_not_mix)
{
    struct lane lanes[LANES] = {0};

    start_reading();
    for (int i = 0; i < LANES; i++) {
        lanes[i].number = i;
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, relay_one_batch, &lanes[i]), 0);
    }
    for (int i = 0; i < LANES; i++) {
        assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
        assert_false(lanes[i].failed);
    }
    finish_reading();
    assert_int_equal(count_lines("t"), LANES * BATCH);
}

TEST(a_stalled_reader_costs_the_deadline_and_tears_no_line)
{
    static char payload[30001];
    int64_t started_ms = clock_now_ms();
    int sent;

    memset(payload, 'x', sizeof payload - 1);
    for (int i = 0; i < 10; i++)
        (void)add_message(&batch, "t", NULL, payload);
    assert_int_equal(publish_within(200), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_true(clock_now_ms() - started_ms < 200 + SLACK_MS);
    sent = count_verdicts(&batch, VERDICT_SENT);
    assert_in_range(sent, 1, 5);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 10 - sent);
    assert_int_equal(publish_within(100), -1);
    start_reading();
    assert_int_equal(publish_within(WAIT_MS), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    finish_reading();
    assert_in_range(count_lines("t"), 10, 11);
}

TEST(a_file_takes_lines_as_well)
{
    char path[] = "/tmp/test_stdout.XXXXXX";
    int fd = mkstemp(path);
    char written[256] = "";
    FILE *file;

    assert_return_code(fd, 0);
    replace_stdout(fd);
    (void)add_message(&batch, "t", NULL, "x");
    assert_int_equal(publish_within(WAIT_MS), 0);
    restore_stdout();
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(written, sizeof written, file));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    assert_non_null(strstr(written, "\"payload\":\"x\"}\n"));
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* As with a disk that is full, and then is not. */
TEST(a_line_that_an_error_has_cut_is_finished_first)
{
    static char payload[3001];
    char path[] = "/tmp/test_stdout.XXXXXX";
    int fd = mkstemp(path);

    assert_return_code(fd, 0);
    memset(payload, 'x', sizeof payload - 1);
    replace_stdout(fd);
    for (int i = 0; i < 3; i++)
        (void)add_message(&batch, "t", NULL, payload);
    limit_files(5000);
    assert_int_equal(publish_within(WAIT_MS), -1);
    limit_files(RLIM_INFINITY);
    assert_int_equal(error.kind, ERROR_FATAL);
    assert_string_equal(error.text, "stdout: File too large");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 1);
    assert_int_equal(publish_within(WAIT_MS), 0);
    restore_stdout();
    (void)close(pipe_end);
    pipe_end = open(path, O_RDONLY);
    start_reading();
    finish_reading();
    assert_int_equal(count_lines("t"), 4);
    assert_int_equal(unlink(path), 0);
}
