#include "integration/keyed_rows.h"
#include "integration/nats_fixture.h"

ONCE(NULL, close_library)

/*
 * The order of a key in a stream when one of its messages is refused. A stream stores what comes
 * behind a refused message, so a message of a key is published only after the one before it was
 * acknowledged.
 */

#define KEYS 4
#define KEY_ROWS 10
#define MESSAGE_BYTES_MAX 1000
#define LARGE_BYTES 4000

static char large[LARGE_BYTES + 1];
static char values[ROWS_MAX][32];
static char keys[KEYS][16];
static char *subject;

static int setup_keys(void **state)
{
    static char subject_bytes[64];
    jsStreamConfig config;

    if (open_broker(state) != 0)
        return -1;
    (void)jsStreamConfig_Init(&config);
    config.MaxMsgSize = MESSAGE_BYTES_MAX;
    use_stream(&config);
    (void)snprintf(subject_bytes, sizeof subject_bytes, "%s.x", prefix);
    subject = subject_bytes;
    memset(large, 'x', LARGE_BYTES);
    row_count = 0;
    return 0;
}

FIXTURE(setup_keys, teardown)

/* Key by key in turn; "K0-3" is the fourth value of the first key. */
static void add_rows(int key_count, int count)
{
    for (int i = 0; i < count; i++) {
        (void)snprintf(keys[i % key_count], sizeof keys[0], "K%d", i % key_count);
        (void)snprintf(values[i], sizeof values[0], "K%d-%d", i % key_count, i / key_count);
        (void)add_row(subject, keys[i % key_count], values[i]);
    }
}

static void expect_key_held_at(int key, int place)
{
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(stored_of(i), i == key ? place : KEY_ROWS);
    assert_int_equal(count_rows(OUTCOME_DEAD), 1);
    assert_int_equal(count_rows(OUTCOME_BEHIND), KEY_ROWS - 1 - place);
}

TEST(a_refused_message_holds_its_key_and_nothing_else)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    rows[3 * KEYS + 1].value = large;
    run_cycles();
    expect_key_held_at(1, 3);
}

TEST(a_held_key_goes_on_when_its_dead_row_is_dropped)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    rows[(KEY_ROWS - 1) * KEYS + 2].value = large;
    run_cycles();
    expect_key_held_at(2, KEY_ROWS - 1);
    drop_dead_rows();
    (void)snprintf(values[0], sizeof values[0], "K2-%d", KEY_ROWS - 1);
    (void)add_row(subject, keys[2], values[0]);
    run_cycles();
    assert_int_equal(stored_of(2), KEY_ROWS);
}

TEST(what_stands_behind_a_dead_row_is_stored_in_its_order)
{
    add_rows(1, KEY_ROWS);
    rows[0].value = large;
    run_cycles();
    assert_int_equal(stored(stream), 0);
    assert_int_equal(count_rows(OUTCOME_BEHIND), KEY_ROWS - 1);
    drop_dead_rows();
    run_cycles();
    assert_int_equal(stored(stream), KEY_ROWS - 1);
    for (int i = 1; i < KEY_ROWS; i++) {
        natsMsg *found = read_back((uint64_t)i);

        assert_int_equal(natsMsg_GetDataLength(found), strlen(values[i]));
        assert_memory_equal(natsMsg_GetData(found), values[i], strlen(values[i]));
        natsMsg_Destroy(found);
    }
}

TEST(five_hundred_messages_of_one_key_keep_their_order)
{
    int64_t started_ms = clock_now_ms();

    add_rows(1, ROWS_MAX);
    assert_int_equal(run_cycle(), 0);
    print_message("one key: %d messages in %lld ms\n", ROWS_MAX,
                  (long long)(clock_now_ms() - started_ms));
    assert_int_equal(batch.last_wave, ROWS_MAX - 1);
    assert_int_equal(stored_of(0), ROWS_MAX);
}
