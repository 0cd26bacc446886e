/* A lane that has connected beside an old transaction asks where unsent rows begin. */
#include "integration/lane_fixture.h"

#include "outbox/sql_choose.h"

#define SLICES 8

static int set_up_mark(void **state)
{
    return open_ordered(state, ON_SENT_MARK, SLICES);
}

static int set_up_deleting(void **state)
{
    return open_ordered(state, ON_SENT_DELETE, SLICES);
}

static int set_up_none(void **state)
{
    return set_up_with(state, ON_SENT_MARK);
}

static int64_t first_of(const struct lane_fixture *fixture, int slice)
{
    return fixture->outbox->bounds.slices[slice].first;
}

static int64_t first_of_k(const struct lane_fixture *fixture)
{
    return first_of(fixture, (int)sql_number(fixture->conn,
                                             "SELECT (hashtext('k') & 2147483647) %% %d", SLICES));
}

static int bounds_known(const struct lane_fixture *fixture)
{
    int known = 0;

    for (int i = 0; i < SLICES; i++)
        known += first_of(fixture, i) != BOUNDS_UNKNOWN;
    return known;
}

static bool survey_is_wanted(const struct lane_fixture *fixture)
{
    return fixture->outbox->survey.due;
}

/* A step of it, as long as it is due. */
static void step(struct lane_fixture *fixture)
{
    claim_count(fixture, 0);
    assert_true(fixture->batch.more);
}

/* As behind a look that took longer than a statement may. */
static void want_survey(struct lane_fixture *fixture)
{
    fixture->outbox->survey.due = true;
    fixture->outbox->survey.overran = true;
}

/* Who begins to write from then on does not hold it up. */
static void step_to_fence(struct lane_fixture *fixture)
{
    const struct survey *survey = &fixture->outbox->survey;

    do
        step(fixture);
    while (trail_end(&survey->tail, INT64_MAX, INT64_MAX) == TRAIL_NONE);
    assert_true(survey_is_wanted(fixture));
}

static void end_survey(struct lane_fixture *fixture)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    while (survey_is_wanted(fixture) && harness_now_ms() < deadline_ms)
        step(fixture);
    assert_false(survey_is_wanted(fixture));
}

static void survey(struct lane_fixture *fixture)
{
    want_survey(fixture);
    end_survey(fixture);
}

static void leave(struct lane_fixture *fixture, const char *ids)
{
    sql(fixture->conn,
        fixture->options.on_sent == ON_SENT_MARK ? "UPDATE outbox SET sent_at = now() WHERE id %s"
                                                 : "DELETE FROM outbox WHERE id %s",
        ids);
}

static void send_all(struct lane_fixture *fixture)
{
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
}

static void a_survey_finds_where_the_unsent_rows_of_each_slice_begin(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 100);
    leave(fixture, "< 60");
    leave(fixture, "BETWEEN 70 AND 99");
    survey(fixture);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(
            first_of(fixture, i),
            sql_number(fixture->conn,
                       "SELECT coalesce(min(id), 101) FROM outbox WHERE (hashtext(key)"
                       " & 2147483647) %% %d = %d AND to_jsonb(outbox) ->> 'sent_at' IS NULL",
                       SLICES, i));
    claim_count(fixture, 11);
}

static void a_table_without_rows_has_nothing_to_survey(void **state)
{
    struct lane_fixture *fixture = *state;

    survey(fixture);
    assert_int_equal(bounds_known(fixture), 0);
}

/* Who has not committed the first row yet; the survey has come to the fence behind it. */
static PGconn *survey_beside_a_writer(struct lane_fixture *fixture)
{
    PGconn *writer = harness_connect(fixture->url);

    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    insert_rows(fixture, 10);
    want_survey(fixture);
    step_to_fence(fixture);
    return writer;
}

static void a_survey_waits_for_a_row_that_is_not_committed_yet(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = survey_beside_a_writer(fixture);

    assert_int_equal(bounds_known(fixture), 0);
    sql(writer, "COMMIT");
    end_survey(fixture);
    assert_int_equal(bounds_known(fixture), SLICES);
    assert_int_equal(first_of_k(fixture), 1);
    PQfinish(writer);
}

static void a_survey_is_given_up_while_a_writer_is_open_for_long(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = survey_beside_a_writer(fixture);

    fixture->outbox->survey.began_ms -= 10000;
    step(fixture);
    assert_false(survey_is_wanted(fixture));
    assert_int_equal(bounds_known(fixture), 0);
    claim_count(fixture, 10);
    PQfinish(writer);
}

/* A row is inserted first and has its transaction's number a moment later. */
static void a_survey_asks_for_its_fence_a_moment_behind_the_id_that_it_began_at(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);
    int64_t began_ms = harness_now_ms();

    sql(writer, "BEGIN");
    sql(writer, "SELECT pg_current_xact_id()"); /* it does not end in its first step */
    insert_rows(fixture, 10);
    want_survey(fixture);
    step_to_fence(fixture);
    assert_true(harness_now_ms() - began_ms >= 250);
    PQfinish(writer);
}

/* A higher one says nothing of those between. */
static void a_survey_behind_a_claim_begins_at_the_lowest_id_of_it(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 10);
    leave(fixture, "< 4");
    fixture->outbox->survey.due = true;
    claim_count(fixture, 7);
    assert_non_null(fixture->outbox->survey.firsts);
    assert_int_equal(fixture->outbox->survey.drawn, 4);
}

/* The next server may be one that never had its rows, and that draws their ids again. */
static void a_survey_ends_with_its_connection(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 10);
    want_survey(fixture);
    step(fixture);
    assert_non_null(fixture->outbox->survey.firsts);
    pipeline_close(fixture->outbox);
    assert_null(fixture->outbox->survey.firsts);
    assert_false(survey_is_wanted(fixture));
}

static void a_survey_waits_for_its_own_fence_not_for_that_of_one_before(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);

    insert_rows(fixture, 10);
    survey(fixture);
    pipeline_close(fixture->outbox);
    fixture->outbox->survey.done = 3; /* as behind one that was cut off among its pieces */
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    insert_rows(fixture, 10);
    want_survey(fixture);
    step_to_fence(fixture);
    step(fixture);
    assert_true(survey_is_wanted(fixture));
    assert_int_equal(fixture->outbox->survey.done, 0);
    assert_int_equal(bounds_known(fixture), 0);
    PQfinish(writer);
}

/* As a row whose sent_at was taken back: it comes before all later ones of its key. */
static void a_survey_does_not_pass_a_row_that_is_claimed_below_what_it_found(void **state)
{
    struct lane_fixture *fixture = *state;
    const struct outbox *outbox = fixture->outbox;

    insert_rows(fixture, 10);
    fixture->outbox->survey.due = true;
    claim_count(fixture, 10);
    for (int i = 0; i < SLICES; i++)
        outbox->survey.firsts[i] = 100;
    fixture->outbox->survey.due = false; /* no step of it */
    decide_all(&fixture->batch, OUTCOME_LEAVE);
    settle(fixture, false);
    claim_count(fixture, 10);
    for (int i = 0; i < outbox->claimed_count; i++)
        assert_int_equal(outbox->survey.firsts[outbox->claimed[i].slice], outbox->claimed[i].first);
}

static void a_survey_ends_when_nothing_is_to_be_known_any_more(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 10);
    want_survey(fixture);
    step(fixture);
    bounds_forget(&fixture->outbox->bounds);
    claim_count(fixture, 10);
    assert_false(survey_is_wanted(fixture));
}

static void a_survey_leaves_a_claim_ahead_and_parked_rows_alone(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 10);
    claim_count(fixture, 10);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    want_survey(fixture);
    claim_count(fixture, 0);
    assert_null(fixture->outbox->survey.firsts);
    assert_int_equal(claim_from(fixture->outbox, &fixture->batch, true, &fixture->error), 0);
    assert_false(fixture->batch.more);
    assert_null(fixture->outbox->survey.firsts);
}

/* Rows of the key that are inserted while the survey is under way, the second committed first. */
static void a_survey_goes_no_further_than_the_id_that_it_began_at(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);
    PGconn *late = harness_connect(fixture->url);

    insert_rows(fixture, 10);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('t', 'other')"); /* holds it up */
    want_survey(fixture);
    step_to_fence(fixture);
    leave(fixture, "< 11");
    sql(late, "BEGIN");
    sql(late, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('later', 'k')");
    sql(writer, "ROLLBACK");
    end_survey(fixture);
    assert_int_equal(first_of_k(fixture), 11);
    sql(late, "COMMIT");
    fixture->outbox->bounds.sweep_ms = INT64_MAX; /* the sweeps are not what is tested */
    claim_count(fixture, 2);
    assert_text(fixture->batch.messages[0].topic, "late");
    assert_text(fixture->batch.messages[1].topic, "later");
    PQfinish(late);
    PQfinish(writer);
}

/* Of the lane's session. */
static void set_option(struct lane_fixture *fixture, const char *option)
{
    PGconn *conn = fixture->outbox->session.conn;

    assert_int_equal(PQexitPipelineMode(conn), 1);
    sql(conn, "SET %s", option);
    assert_int_equal(PQenterPipelineMode(conn), 1);
}

static void a_look_that_takes_longer_than_it_may_is_followed_by_a_survey(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *other = harness_connect(fixture->url);

    insert_rows(fixture, 10);
    sql(other, "BEGIN");
    sql(other, "LOCK TABLE outbox_slice IN ACCESS EXCLUSIVE MODE");
    set_option(fixture, "statement_timeout = 1100");
    set_option(fixture, "lock_timeout = 0");
    assert_int_equal(claim(fixture), -1);
    assert_non_null(strstr(fixture->error.text, "statement timeout"));
    sql(other, "ROLLBACK");
    step(fixture);
    end_survey(fixture);
    assert_int_equal(bounds_known(fixture), SLICES);
    claim_count(fixture, 10);
    PQfinish(other);
}

/* The table is empty behind each claim, and parked rows are looked for in between. */
static void a_slow_look_that_finds_a_row_is_followed_by_a_survey_beside_the_claims(void **state)
{
    struct lane_fixture *fixture = *state;
    struct survey *survey = &fixture->outbox->survey;
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    int waiting = 0, looking = 0;

    insert_rows(fixture, 1);
    claim_count(fixture, 1);
    insert_rows(fixture, 1);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    fixture->outbox->asked_ms -= 2000; /* the look that is under way took so long */
    claim_count(fixture, 1);
    assert_true(survey->due);
    survey->look_ms = 0; /* a slice at a time */
    while (survey->due && harness_now_ms() < deadline_ms) {
        if (fixture->batch.count > 0)
            send_all(fixture);
        assert_int_equal(claim_from(fixture->outbox, &fixture->batch, true, &fixture->error), 0);
        insert_rows(fixture, 1);
        assert_int_equal(claim(fixture), 0);
        waiting += survey->done == 0 && fixture->batch.count > 0;
        looking += survey->due && survey->done > 0 && fixture->batch.count > 0;
    }
    assert_int_equal(bounds_known(fixture), SLICES);
    assert_true(waiting > 0);
    assert_int_equal(looking, SLICES - 1);
}

static void a_survey_that_fails_is_not_begun_again_at_once(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *other = harness_connect(fixture->url);
    PGconn *writer = harness_connect(fixture->url);

    insert_rows(fixture, 10);
    sql(writer, "BEGIN");
    sql(writer, "SELECT pg_current_xact_id()"); /* it does not end in its first step */
    want_survey(fixture);
    step_to_fence(fixture);
    sql(writer, "ROLLBACK");
    sql(other, "BEGIN");
    sql(other, "LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE");
    set_option(fixture, "statement_timeout = 100");
    assert_int_equal(claim(fixture), -1);
    sql(other, "ROLLBACK");
    assert_false(survey_is_wanted(fixture));
    claim_count(fixture, 10);
    survey_note_look(fixture->outbox, 1000, false);
    assert_false(survey_is_wanted(fixture));
    PQfinish(writer);
    PQfinish(other);
}

static void a_survey_is_made_while_a_sink_is_away(void **state)
{
    struct lane_fixture *fixture = *state;
    const struct claim one_away = {.payload_max = PAYLOAD_MAX, .away = 1};
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    insert_rows(fixture, 10);
    assert_int_equal(outbox_claim(fixture->outbox, &fixture->batch, &one_away, &fixture->error), 0);
    if (fixture->batch.count > 0)
        send_all(fixture);
    want_survey(fixture);
    while (survey_is_wanted(fixture) && harness_now_ms() < deadline_ms)
        assert_int_equal(outbox_claim(fixture->outbox, &fixture->batch, &one_away, &fixture->error),
                         0);
    assert_int_equal(bounds_known(fixture), SLICES);
}

static void a_survey_of_integer_ids_goes_by_the_index(void **state)
{
    struct lane_fixture *fixture = *state;
    char *statement;

    sql(fixture->conn, "ALTER TABLE outbox ALTER id TYPE integer; SET enable_seqscan = off");
    pipeline_close(fixture->outbox);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    insert_rows(fixture, 100);
    statement = sql_newest(&fixture->outbox->table);
    sql(fixture->conn, "PREPARE newest AS %s", statement);
    free(statement);
    assert_null(strstr(sql_text(fixture->conn, "EXPLAIN (FORMAT JSON) EXECUTE newest"), "Sort"));
    survey(fixture);
    assert_int_equal(bounds_known(fixture), SLICES);
    claim_count(fixture, 100);
}

/* It asks for the newest row by that index. */
static void without_an_index_on_the_id_there_is_no_survey(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey");
    pipeline_close(fixture->outbox);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    claim_count(fixture, 0);
    survey_note_look(fixture->outbox, 1000, false);
    assert_false(survey_is_wanted(fixture));
}

static void order_none_needs_no_survey(void **state)
{
    struct lane_fixture *fixture = *state;

    claim_count(fixture, 0);
    survey_note_look(fixture->outbox, 10000, true);
    assert_false(survey_is_wanted(fixture));
}

static void who_knows_bounds_makes_no_survey(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 1);
    survey(fixture);
    fixture->outbox->survey.rests_ms = 0;
    fixture->outbox->bounds.sweep_ms = INT64_MAX;
    claim_count(fixture, 1);
    survey_note_look(fixture->outbox, 10000, false);
    assert_false(survey_is_wanted(fixture));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_mark, tear_down)
#define TEST_DELETE(name) cmocka_unit_test_setup_teardown(name, set_up_deleting, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_survey_finds_where_the_unsent_rows_of_each_slice_begin),
        TEST_DELETE(a_survey_finds_where_the_unsent_rows_of_each_slice_begin),
        TEST_DELETE(a_table_without_rows_has_nothing_to_survey),
        TEST(a_survey_waits_for_a_row_that_is_not_committed_yet),
        TEST_DELETE(a_survey_waits_for_a_row_that_is_not_committed_yet),
        TEST(a_survey_is_given_up_while_a_writer_is_open_for_long),
        TEST(a_survey_asks_for_its_fence_a_moment_behind_the_id_that_it_began_at),
        TEST(a_survey_behind_a_claim_begins_at_the_lowest_id_of_it),
        TEST(a_survey_ends_with_its_connection),
        TEST(a_survey_waits_for_its_own_fence_not_for_that_of_one_before),
        TEST(a_survey_does_not_pass_a_row_that_is_claimed_below_what_it_found),
        TEST(a_survey_ends_when_nothing_is_to_be_known_any_more),
        TEST(a_survey_leaves_a_claim_ahead_and_parked_rows_alone),
        TEST(a_survey_goes_no_further_than_the_id_that_it_began_at),
        TEST_DELETE(a_survey_goes_no_further_than_the_id_that_it_began_at),
        TEST(a_look_that_takes_longer_than_it_may_is_followed_by_a_survey),
        TEST_DELETE(a_slow_look_that_finds_a_row_is_followed_by_a_survey_beside_the_claims),
        TEST(a_survey_that_fails_is_not_begun_again_at_once),
        TEST(a_survey_is_made_while_a_sink_is_away),
        TEST(a_survey_of_integer_ids_goes_by_the_index),
        TEST(without_an_index_on_the_id_there_is_no_survey),
        TEST(who_knows_bounds_makes_no_survey),
        cmocka_unit_test_setup_teardown(order_none_needs_no_survey, set_up_none, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
