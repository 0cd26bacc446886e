/* Planted faults, and random histories against a model that compares everything with everything. */
#include "audit/audit.h"
#include "unit/seed.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FINDINGS_MAX 4000
#define ID_BYTES 64
#define EVENTS 120 /* of a random history */
#define ROWS_MAX 400
#define ANY_TIME 1000

struct seen {
    enum audit_kind kind;
    int sink;
    char event_id[ID_BYTES];
    char id[ID_BYTES];
    int64_t position, after;
};

static struct audit *audit;
static struct error error;
static struct seen seen[FINDINGS_MAX];
static int seen_count;
static enum audit_kind verdict; /* of rows that are not held */

static enum audit_kind judge_row(const void *closure, const struct audit_finding *row)
{
    (void)closure, (void)row;
    return verdict;
}

static void copy(char to[ID_BYTES], struct text text)
{
    (void)snprintf(to, ID_BYTES, "%.*s", (int)text.len, text.data != NULL ? text.data : "");
}

static void take_finding(void *closure, const struct audit_finding *finding)
{
    struct seen *next = &seen[seen_count++];

    (void)closure;
    assert_true(seen_count <= FINDINGS_MAX);
    next->kind = finding->kind;
    next->sink = finding->sink;
    next->position = finding->position;
    next->after = finding->after;
    copy(next->event_id, finding->event_id);
    copy(next->id, finding->id);
}

static const struct audit_judge judge = {judge_row, take_finding, NULL};

static int open_audit(size_t memory)
{
    seen_count = 0;
    verdict = AUDIT_MISSING;
    audit = audit_open(memory, &error);
    return audit == NULL ? -1 : 0;
}

static int set_up(void **state)
{
    (void)state;
    return open_audit(AUDIT_MEMORY);
}

static int tear_down(void **state)
{
    (void)state;
    audit_close(audit);
    return 0;
}

FIXTURE(set_up, tear_down)

static struct audit_digest digest_of(const char *text)
{
    return audit_hash_text(audit, text_of(text));
}

static struct audit_row row_of(const char *id, int64_t rank)
{
    return (struct audit_row){.id = text_of(id),
                              .event_id = text_of(id),
                              .rank = rank,
                              .sent_ms = ANY_TIME,
                              .has_content = true,
                              .content = digest_of("x")};
}

static struct audit_held held_of(const char *id, int64_t position)
{
    return (struct audit_held){.event_id = text_of(id),
                               .position = position,
                               .time_ms = ANY_TIME,
                               .content = digest_of("x")};
}

static void add_row(struct audit_row row)
{
    assert_int_equal(audit_add_row(audit, &row, &error), 0);
}

static void add_held(struct audit_held held)
{
    assert_int_equal(audit_add_held(audit, &held, &error), 0);
}

static void add_keyed(const char *id, int64_t rank, const char *key)
{
    struct audit_row row = row_of(id, rank);

    row.has_key = true;
    row.key = digest_of(key);
    add_row(row);
}

static void compare(void)
{
    if (audit_compare(audit, &judge, &error) < 0 ||
        audit_judge_unknown(audit, 0, &judge, &error) < 0)
        fail_msg("%s", error.text);
}

static void assert_counts(int64_t missing, int64_t unknown, int64_t late, int64_t again,
                          int64_t altered)
{
    const int64_t expected[AUDIT_FINDINGS] = {missing, unknown, late, again, altered};

    for (int kind = 0; kind < AUDIT_FINDINGS; kind++)
        if (audit_count(audit, (enum audit_kind)kind) != expected[kind])
            fail_msg("kind %d: %d findings instead of %d", kind,
                     (int)audit_count(audit, (enum audit_kind)kind), (int)expected[kind]);
    assert_int_equal(seen_count, missing + unknown + late + again + altered);
}

static const struct seen *only_finding(enum audit_kind kind, const char *event_id)
{
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].kind, kind);
    assert_string_equal(seen[0].event_id, event_id);
    return &seen[0];
}

/* ---- planted faults ---- */

/*
 * Rows in the order of their ids, which are 1, 2 and so on, and messages in the order of their
 * positions. Each begins with its event id; then follow, in any order, .KEY =CONTENT @SINK #TOPIC
 * /PARTITION, each of one letter or digit, and !p for a parked row, !r for a replay.
 */
static const struct planted {
    const char *name, *rows, *held;
    const char *found; /* the findings with event id, row and position; then how many are what */
} planted[] = {
    {"nothing at all has no finding", "", "", ""},
    {"rows that are held once and as they are have no finding", "a b", "b a", "found 2"},
    {"a row that is not held is missing", "b event", "b", "missing event row 2, found 1"},
    {"missing rows come in the order of their ids", "c b a", "b",
     "missing c row 1, missing a row 3, found 1"},
    {"an unknown event is reported for each sink, and its repeats are again", "", "u u u@1 u@1",
     "again u at 2, again u at 4, unknown u at 1, unknown u at 3"},
    {"the first of two that were swapped is not late", "a.k b.k c.k z.l", "b a c z",
     "late a row 1 at 2 after 1, found 4"},
    {"order counts within a partition, a topic and a sink", "d.k@1 a.k c.k b.k", "b c/1 a#1 d@1",
     "found 4"},
    {"rows without a key are never late", "a b", "b a", "found 2"},
    {"the first message of an event says whether it is late", "a.k b.k", "a b a",
     "again a row 1 at 3, found 2"},
    {"late after a replay or parked is no finding", "p.k!p r.k z.k", "z p r!r",
     "found 3, replayed 1, late replayed 1, late parked 1"},
    {"a replay is neither again nor does it hide what is again", "a", "a a!r a",
     "again a row 1 at 3, found 1, replayed 1"},
    {"another content is altered, and one that is not known is counted apart", "a b=?", "a=y b",
     "altered a row 1 at 1, found 2, not compared 1"},
    {"an event that another sink holds is not missing", "a", "a@1", "elsewhere 1"},
    {"an event that the sink of another row holds is missing", "a a@1", "a",
     "missing a row 2, found 1"},
    {"rows are elsewhere when a sink without a row holds their event", "a a@1 a@2", "a a@3",
     "found 1, elsewhere 2"},
    {"two rows with one event id are two messages", "a a=y", "a", "found 2"},
    {"a third message of two rows with one event id is again", "a a", "a a a",
     "again a row 1 at 3, found 2"},
    {"ids that share a prefix, and an empty one, are different ids", "event event-1 =x",
     "event-1 event-12 =x", "missing event row 1, unknown event-12 at 2, found 2"},
};

static const char *const kinds[AUDIT_KINDS] = {
    "missing",  "unknown",       "late",        "again",     "altered",      "found",
    "replayed", "late replayed", "late parked", "elsewhere", "not compared", "not read",
    "too old",  "held, old",     "newer",       "untold"};

struct token {
    char event_id[ID_BYTES];
    char key[2], content[2];
    int sink, topic, partition;
    bool is_marked;
};

static bool next_token(const char **text, struct token *token)
{
    size_t len;

    *text += strspn(*text, " ");
    len = strcspn(*text, " .=@#/!");
    *token = (struct token){.content = "x"};
    copy(token->event_id, (struct text){*text, len});
    if (**text == '\0')
        return false;
    for (*text += len; **text != '\0' && **text != ' '; *text += 2) {
        char what = **text;
        char value = (*text)[1];

        if (what == '.')
            token->key[0] = value;
        else if (what == '=')
            token->content[0] = value;
        else if (what == '!')
            token->is_marked = true;
        else
            *(what == '@'   ? &token->sink
              : what == '#' ? &token->topic
                            : &token->partition) = value - '0';
    }
    return true;
}

static void add_planted(const struct planted *fault)
{
    const char *rows = fault->rows;
    const char *held = fault->held;
    struct token token;

    for (int i = 1; next_token(&rows, &token); i++) {
        struct audit_row row = row_of(token.event_id, i);
        char id[16];

        (void)snprintf(id, sizeof id, "%d", i);
        row.id = text_of(id);
        row.sink = token.sink;
        row.has_key = token.key[0] != '\0';
        row.key = digest_of(token.key);
        row.has_content = token.content[0] != '?';
        row.content = digest_of(token.content);
        row.was_parked = token.is_marked;
        add_row(row);
    }
    for (int i = 1; next_token(&held, &token); i++) {
        struct audit_held message = held_of(token.event_id, i);

        message.sink = token.sink;
        message.topic = token.topic;
        message.partition = token.partition;
        message.content = digest_of(token.content);
        message.is_replayed = token.is_marked;
        add_held(message);
    }
}

static void put_found(FILE *out)
{
    const char *comma = "";

    for (int i = 0; i < seen_count; i++, comma = ", ") {
        (void)fprintf(out, "%s%s %s", comma, kinds[seen[i].kind], seen[i].event_id);
        if (seen[i].id[0] != '\0')
            (void)fprintf(out, " row %s", seen[i].id);
        if (seen[i].position >= 0)
            (void)fprintf(out, " at %d", (int)seen[i].position);
        if (seen[i].kind == AUDIT_LATE)
            (void)fprintf(out, " after %d", (int)seen[i].after);
    }
    for (int kind = AUDIT_FINDINGS; kind < AUDIT_KINDS; kind++)
        if (audit_count(audit, (enum audit_kind)kind) > 0) {
            (void)fprintf(out, "%s%s %d", comma, kinds[kind],
                          (int)audit_count(audit, (enum audit_kind)kind));
            comma = ", ";
        }
}

TEST(what_the_caller_says_of_a_row_that_is_not_held_counts)
{
    struct audit_row row = row_of("b", 2);

    row.sink = 1;
    verdict = AUDIT_OLD_ROW;
    add_row(row_of("a", 1));
    add_row(row_of("b", 1));
    add_row(row);
    add_held(held_of("b", 1));
    compare();
    assert_counts(0, 0, 0, 0, 0);
    assert_int_equal(audit_count(audit, AUDIT_OLD_ROW), 2);
    assert_int_equal(audit_count(audit, AUDIT_FOUND), 1);
}

TEST(each_planted_fault_is_found_and_no_other)
{
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        char found[512] = "";
        FILE *out = fmemopen(found, sizeof found, "w");

        audit_close(audit);
        assert_int_equal(open_audit(AUDIT_MEMORY), 0);
        add_planted(&planted[i]);
        compare();
        assert_non_null(out);
        put_found(out);
        (void)fclose(out);
        if (strcmp(found, planted[i].found) != 0)
            fail_msg("%s: \"%s\" instead of \"%s\"", planted[i].name, found, planted[i].found);
    }
}

/* The judge must see the lag of all rows, also of later ones. */
static enum audit_kind judge_by_lag(const void *closure, const struct audit_finding *row)
{
    (void)closure, (void)row;
    return audit_seen(audit).lag_ms == 500 ? AUDIT_OLD_ROW : AUDIT_MISSING;
}

/* Whatever else of it was altered. */
TEST(only_a_message_whose_key_is_in_another_partition_shows_that_partitions_were_added)
{
    for (int is_same = 0; is_same < 2; is_same++) {
        struct audit_row row = row_of("a", 1);
        struct audit_held held = held_of("a", 1);

        audit_close(audit);
        assert_int_equal(open_audit(AUDIT_MEMORY), 0);
        row.partition = held.partition + 1;
        row.has_content = true;
        row.content = held.content;
        row.content.bytes[0] ^= 1;
        row.route_key = text_of("k");
        held.key = text_of(is_same != 0 ? "k" : "l");
        add_row(row);
        add_held(held);
        assert_int_equal(audit_compare(audit, &judge, &error), 0);
        assert_int_equal(audit_seen(audit).has_moved, is_same);
    }
}

TEST(two_rows_of_one_event_in_different_partitions_show_no_added_partition)
{
    for (int i = 0; i < 2; i++) {
        struct audit_row row = row_of("a", i);

        row.partition = i;
        add_row(row);
    }
    for (int i = 1; i >= 0; i--) {
        struct audit_held held = held_of("a", i);

        held.partition = i;
        held.time_ms -= i;
        add_held(held);
    }
    assert_int_equal(audit_compare(audit, &judge, &error), 0);
    assert_false(audit_seen(audit).has_moved);
}

TEST(rows_that_are_not_held_are_judged_after_all_times_are_known)
{
    const struct audit_judge by_lag = {judge_by_lag, take_finding, NULL};
    char ids[300][ID_BYTES];

    for (int i = 0; i < 300; i++) {
        (void)snprintf(ids[i], ID_BYTES, "event-%d", i);
        add_row(row_of(ids[i], i));
    }
    for (int i = 150; i < 151; i++) {
        struct audit_held held = held_of(ids[i], i);

        held.time_ms -= 500;
        add_held(held);
    }
    assert_int_equal(audit_compare(audit, &by_lag, &error), 0);
    assert_int_equal(audit_count(audit, AUDIT_OLD_ROW), 299);
    assert_int_equal(audit_count(audit, AUDIT_MISSING), 0);
    assert_int_equal(audit_seen(audit).lead_ms, 0);
}

TEST(a_message_without_a_row_is_unknown_unless_the_table_has_it_or_it_is_too_old)
{
    struct audit_held old = held_of("old", 3);

    old.time_ms = 10;
    add_held(held_of("unknown", 1));
    add_held(held_of("known", 2));
    add_held(old);
    assert_int_equal(audit_compare(audit, &judge, &error), 0);
    assert_int_equal(audit_seen(audit).unknown, 3);
    assert_int_equal(audit_add_known(audit, text_of("known"), &error), 0);
    assert_int_equal(audit_add_known(audit, text_of("knowm"), &error), 0);
    assert_int_equal(audit_judge_unknown(audit, 11, &judge, &error), 0);
    assert_int_equal(only_finding(AUDIT_UNKNOWN, "unknown")->position, 1);
    assert_int_equal(audit_count(audit, AUDIT_NEWER), 1);
    assert_int_equal(audit_count(audit, AUDIT_OLD_HELD), 1);
    assert_int_equal(audit_seen(audit).unknown, 0);
}

TEST(unknown_events_of_which_nothing_can_be_told_are_counted_apart)
{
    add_held(held_of("a", 1));
    add_held(held_of("b", 2));
    assert_int_equal(audit_compare(audit, &judge, &error), 0);
    audit_leave_unknown(audit);
    assert_counts(0, 0, 0, 0, 0);
    assert_int_equal(audit_count(audit, AUDIT_UNTOLD), 2);
}

TEST(very_many_rows_with_one_event_id_are_compared_at_once)
{
    struct audit_row row = row_of("a", 1);
    struct audit_held held = held_of("a", 1);

    for (int i = 0; i < 100000; i++) {
        row.sink = i % 2;
        row.rank = i;
        memcpy(row.content.bytes, &i, sizeof i);
        held.sink = 0;
        held.position = 100000 - i;
        held.content = row.content;
        add_row(row);
        if (row.sink == held.sink)
            add_held(held);
    }
    verdict = AUDIT_OLD_ROW;
    compare();
    assert_counts(0, 0, 0, 0, 0);
    assert_int_equal(audit_count(audit, AUDIT_FOUND), 50000);
    assert_int_equal(audit_count(audit, AUDIT_OLD_ROW), 50000);
}

TEST(ids_with_zero_bytes_are_compared_by_all_their_bytes)
{
    struct audit_row row = row_of("", 1);
    struct audit_held held = held_of("", 1);

    row.event_id = (struct text){"a\0b", 3};
    held.event_id = (struct text){"a\0c", 3};
    add_row(row);
    add_held(held);
    compare();
    assert_counts(1, 1, 0, 0, 0);
}

TEST(very_long_ids_are_compared_as_a_whole)
{
    static char long_id[100000];
    static char other[100000];
    struct audit_row row;
    struct audit_held held;

    memset(long_id, 'e', sizeof long_id - 1);
    memcpy(other, long_id, sizeof long_id);
    other[sizeof other - 2] = 'f';
    row = row_of(long_id, 1);
    add_row(row);
    row = row_of(other, 2);
    add_row(row);
    held = held_of(other, 1);
    add_held(held);
    compare();
    assert_counts(1, 0, 0, 0, 0);
    assert_int_equal(audit_count(audit, AUDIT_FOUND), 1);
}

/* ---- the hash ---- */

#define HEADER(name, value) ((struct header){text_of(name), text_of(value)})

static bool is_same_hash(const struct header *a, int a_count, const struct header *b, int b_count)
{
    const struct text x = text_of("x");
    struct audit_digest left;
    struct audit_digest right;

    assert_int_equal(audit_hash_content(audit, x, x, x, a, a_count, text_of("replayed_at"), &left),
                     0);
    assert_int_equal(audit_hash_content(audit, x, x, x, b, b_count, text_of("replayed_at"), &right),
                     0);
    return memcmp(&left, &right, sizeof left) == 0;
}

TEST(headers_count_in_any_order_and_those_of_the_server_not_at_all)
{
    const struct header one[] = {HEADER("a", "1"), HEADER("b", "2"), HEADER("b", "1")};
    const struct header other[] = {HEADER("Nats-Msg-Id", "9"),   HEADER("b", "1"),
                                   HEADER("replayed_at", "now"), HEADER("b", "2"),
                                   HEADER("nats-stream", "9"),   HEADER("a", "1")};
    const struct header changed[] = {HEADER("a", "1"), HEADER("b", "2"), HEADER("b", "2")};
    const struct header named[] = {HEADER("Nats", "1")};

    assert_true(is_same_hash(one, 3, other, 6));
    assert_false(is_same_hash(one, 3, changed, 3));
    assert_false(is_same_hash(one, 3, one, 2));
    assert_false(is_same_hash(named, 1, NULL, 0));
}

TEST(no_text_moves_from_a_field_to_the_next_and_null_is_not_empty)
{
    const struct header ab[] = {HEADER("ab", "c")};
    const struct header a[] = {HEADER("a", "bc")};
    const struct header null[] = {{text_of("a"), {NULL, 0}}};
    const struct header empty[] = {{text_of("a"), {"", 0}}};
    const struct text fields[] = {{NULL, 0}, {"", 0}, {"x", 1}};
    struct audit_digest digests[27];

    assert_false(is_same_hash(ab, 1, a, 1));
    assert_false(is_same_hash(null, 1, empty, 1));
    for (int i = 0; i < 27; i++) {
        assert_int_equal(audit_hash_content(audit, fields[i / 9], fields[i / 3 % 3], fields[i % 3],
                                            NULL, 0, (struct text){NULL, 0}, &digests[i]),
                         0);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(&digests[i], &digests[j], sizeof digests[i]);
    }
}

/* ---- temporary files ---- */

static char folder[64];

static int use_folder(void **state)
{
    (void)snprintf(folder, sizeof folder, "/tmp/test-audit-XXXXXX");
    if (mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0)
        return -1;
    return set_up(state);
}

static int leave_folder(void **state)
{
    (void)tear_down(state);
    (void)unsetenv("TMPDIR");
    return rmdir(folder);
}

static int files_in(const char *path)
{
    DIR *opened = opendir(path);
    int count = 0;

    assert_non_null(opened);
    while (readdir(opened) != NULL)
        count++;
    (void)closedir(opened);
    return count - 2;
}

TEST_WITH(no_file_has_a_name_in_tmpdir, use_folder, leave_folder)
{
    add_row(row_of("a", 1));
    add_held(held_of("b", 1));
    assert_int_equal(files_in(folder), 0);
    compare();
    assert_counts(1, 1, 0, 0, 0);
    assert_int_equal(files_in(folder), 0);
}

TEST_WITH(a_tmpdir_that_cannot_be_written_is_named, NULL, NULL)
{
    assert_int_equal(setenv("TMPDIR", "/proc/no-such-folder", 1), 0);
    assert_int_equal(open_audit(AUDIT_MEMORY), -1);
    (void)unsetenv("TMPDIR");
    assert_non_null(strstr(error.text, "/proc/no-such-folder"));
    assert_non_null(strstr(error.hint, "TMPDIR"));
}

TEST_WITH(a_disk_that_is_full_is_an_error_that_names_the_folder, use_folder, leave_folder)
{
    const struct rlimit none = {0, RLIM_INFINITY};
    struct rlimit before;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int rows = 1; rows <= 1000; rows += 999) {
        int status = 0;

        audit_close(audit);
        assert_int_equal(open_audit(0), 0);
        for (int i = 0; i < rows && status == 0; i++) {
            struct audit_row row = row_of("a", i);

            status = audit_add_row(audit, &row, &error);
        }
        if (rows == 1)
            status = audit_compare(audit, &judge, &error);
        assert_int_equal(status, -1);
        assert_non_null(strstr(error.text, folder));
        memset(&error, 0, sizeof error);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(more_records_than_are_kept_in_memory_are_compared_as_well)
{
    char id[ID_BYTES];

    for (int i = 0; i < 60000; i++) {
        (void)snprintf(id, sizeof id, "00000000-0000-0000-0000-%012d", i);
        add_keyed(id, i, "one key");
        if (i % 1000 != 7)
            add_held(held_of(id, i));
    }
    compare();
    assert_counts(60, 0, 0, 0, 0);
    for (int i = 0; i < seen_count; i++)
        assert_int_equal(
            strtol(seen[i].event_id + strlen("00000000-0000-0000-0000-"), NULL, 10) % 1000, 7);
}

/* ---- random histories ---- */

struct history {
    struct audit_row rows[ROWS_MAX];
    struct audit_held held[ROWS_MAX];
    bool known[EVENTS];
    char ids[EVENTS][ID_BYTES];
    int keys[ROWS_MAX];
    int row_count, held_count;
};

static struct history history;

static bool is_event(struct text text, const char *id)
{
    return text_equal(text, text_of(id));
}

static int random_below(int end)
{
    return rand() % end;
}

/* Ids share prefixes; a row in ten has the event id of another, and the same key. */
static void make_rows(int keys)
{
    history.row_count = 100 + random_below(200);
    for (int i = 0; i < history.row_count; i++) {
        int event = random_below(EVENTS);
        char key[16];

        history.keys[i] = event % keys;
        (void)snprintf(key, sizeof key, "k%d", history.keys[i]);
        history.rows[i] = row_of(history.ids[event], i + 1);
        history.rows[i].sink = random_below(8) == 0;
        history.rows[i].has_key = history.keys[i] > 0;
        history.rows[i].key = digest_of(key);
        history.rows[i].was_parked = random_below(10) == 0;
        history.rows[i].content = digest_of(random_below(10) == 0 ? "y" : "x");
    }
}

static void make_held(void)
{
    history.held_count = 100 + random_below(250);
    for (int i = 0; i < history.held_count; i++) {
        history.held[i] = held_of(history.ids[random_below(EVENTS)], i + 1);
        history.held[i].sink = random_below(8) == 0;
        history.held[i].time_ms = ANY_TIME + i;
        history.held[i].topic = random_below(2);
        history.held[i].partition = random_below(2);
        history.held[i].is_replayed = random_below(6) == 0;
        history.held[i].content = digest_of(random_below(10) == 0 ? "y" : "x");
    }
}

static bool has_row(const char *id, int sink)
{
    for (int i = 0; i < history.row_count; i++)
        if (is_event(history.rows[i].event_id, id) && history.rows[i].sink == sink)
            return true;
    return false;
}

/* What the audit must say of one event at one sink; returns its first message, or NULL. */
static const struct audit_held *model_event(int event, int sink, int64_t counts[AUDIT_KINDS])
{
    const char *id = history.ids[event];
    const struct audit_held *first = NULL;
    const struct audit_held *replayed = NULL;
    int rows = 0;
    int rows_anywhere = 0;
    int originals = 0;
    int held_count = 0;
    int held_elsewhere = 0;
    int replays = 0;
    bool altered = false;

    for (int i = 0; i < history.row_count; i++) {
        rows_anywhere += is_event(history.rows[i].event_id, id);
        rows += is_event(history.rows[i].event_id, id) && history.rows[i].sink == sink;
    }
    for (int i = 0; i < history.held_count; i++) {
        const struct audit_held *held = &history.held[i];
        bool same = false;

        held_elsewhere += is_event(held->event_id, id) && !has_row(id, held->sink);
        if (!is_event(held->event_id, id) || held->sink != sink)
            continue;
        held_count++;
        replays += held->is_replayed;
        originals += !held->is_replayed;
        if (first == NULL && !held->is_replayed)
            first = held;
        if (replayed == NULL && held->is_replayed)
            replayed = held;
        for (int j = 0; j < history.row_count; j++)
            same = same ||
                   (is_event(history.rows[j].event_id, id) && history.rows[j].sink == sink &&
                    memcmp(&history.rows[j].content, &held->content, sizeof held->content) == 0);
        altered = altered || !same;
    }
    if (rows == 0 && rows_anywhere > 0)
        return NULL;
    counts[AUDIT_REPLAYED] += replays;
    if (rows == 0) {
        counts[AUDIT_AGAIN] += originals > 1 ? originals - 1 : 0;
        counts[history.known[event] ? AUDIT_NEWER : AUDIT_UNKNOWN] += held_count > 0;
        return NULL;
    }
    counts[AUDIT_AGAIN] += originals > rows ? originals - rows : 0;
    counts[held_count > 0       ? AUDIT_FOUND
           : held_elsewhere > 0 ? AUDIT_ELSEWHERE
                                : AUDIT_MISSING] += rows;
    counts[AUDIT_ALTERED] += altered;
    return first != NULL ? first : replayed;
}

struct placed {
    const struct audit_row *row;
    const struct audit_held *held;
    int key;
};

/* Every pair of placed events: late is what has one of a higher rank before it. */
static void model_order(const struct placed *placed, int count, int64_t counts[AUDIT_KINDS])
{
    for (int i = 0; i < count; i++) {
        bool late = false;

        for (int j = 0; j < count; j++)
            late = late || (placed[j].key == placed[i].key &&
                            placed[j].held->sink == placed[i].held->sink &&
                            placed[j].held->topic == placed[i].held->topic &&
                            placed[j].held->partition == placed[i].held->partition &&
                            placed[j].held->position < placed[i].held->position &&
                            placed[j].row->rank > placed[i].row->rank);
        if (late)
            counts[placed[i].held->is_replayed ? AUDIT_LATE_REPLAYED
                   : placed[i].row->was_parked ? AUDIT_LATE_PARKED
                                               : AUDIT_LATE]++;
    }
}

static void model(int64_t counts[AUDIT_KINDS])
{
    static struct placed placed[2 * EVENTS];
    int placed_count = 0;

    memset(counts, 0, AUDIT_KINDS * sizeof *counts);
    for (int event = 0; event < EVENTS; event++)
        for (int sink = 0; sink < 2; sink++) {
            const struct audit_held *first = model_event(event, sink, counts);
            int row = 0;

            while (first != NULL && (history.rows[row].sink != sink ||
                                     !is_event(history.rows[row].event_id, history.ids[event])))
                row++;
            if (first != NULL && history.rows[row].has_key)
                placed[placed_count++] =
                    (struct placed){&history.rows[row], first, history.keys[row]};
        }
    model_order(placed, placed_count, counts);
}

static void add_shuffled(void)
{
    int order[ROWS_MAX];

    for (int i = 0; i < history.row_count; i++) {
        int other = random_below(i + 1);

        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < history.row_count; i++)
        add_row(history.rows[order[i]]);
    for (int i = history.held_count - 1; i >= 0; i--)
        add_held(history.held[i]);
}

static void run_history(int number)
{
    int64_t expected[AUDIT_KINDS];
    int64_t findings = 0;

    seen_count = 0;
    for (int i = 0; i < EVENTS; i++) {
        (void)snprintf(history.ids[i], ID_BYTES, "e%d", i);
        history.known[i] = random_below(3) == 0;
    }
    make_rows(1 + random_below(20));
    make_held();
    add_shuffled();
    model(expected);
    assert_int_equal(audit_compare(audit, &judge, &error), 0);
    for (int i = 0; i < EVENTS; i++)
        if (history.known[i])
            assert_int_equal(audit_add_known(audit, text_of(history.ids[i]), &error), 0);
    assert_int_equal(audit_judge_unknown(audit, 0, &judge, &error), 0);
    for (int kind = 0; kind < AUDIT_KINDS; kind++) {
        if (audit_count(audit, (enum audit_kind)kind) != expected[kind])
            fail_msg("history %d, kind %d: %d instead of %d", number, kind,
                     (int)audit_count(audit, (enum audit_kind)kind), (int)expected[kind]);
        findings += kind < AUDIT_FINDINGS ? expected[kind] : 0;
    }
    assert_int_equal(seen_count, findings);
}

TEST(random_histories_are_judged_as_by_a_model_that_compares_all_with_all)
{
    (void)seed_random();
    for (int i = 0; i < 40; i++) {
        audit_close(audit);
        assert_int_equal(open_audit(i % 2 == 0 ? AUDIT_MEMORY : 0), 0);
        run_history(i);
    }
}

/* ---- more events of a key than fit into memory ---- */

#define PLACED 700

/* In the order of their positions. */
struct placed_event {
    char id[AUDIT_TEXT_MAX + 1];
    char key[2];
    int partition;
    int64_t rank;
};

static struct placed_event placed_events[PLACED];

/* Texts of any length: a record may begin at the end of a window. */
static void make_placed(int keys, int partitions)
{
    for (int i = 0; i < PLACED; i++) {
        struct placed_event *event = &placed_events[i];

        memset(event, 0, sizeof *event);
        memset(event->id, 'x', (size_t)(10 + random_below(AUDIT_TEXT_MAX - 9)));
        event->id[snprintf(event->id, 10, "%d", i)] = '-';
        event->key[0] = (char)('a' + random_below(keys));
        event->partition = random_below(partitions);
        event->rank = i + (random_below(10) == 0 ? -1 : 1) * (int64_t)random_below(PLACED);
        event->rank = event->rank * PLACED + i;
    }
}

/* The position of the highest rank before this event at its place, if it is higher; or -1. */
static int64_t model_after(int at)
{
    const struct placed_event *event = &placed_events[at];
    int64_t rank = event->rank;
    int64_t after = -1;

    for (int i = 0; i < at; i++) {
        const struct placed_event *other = &placed_events[i];

        if (other->key[0] == event->key[0] && other->partition == event->partition &&
            other->rank > rank) {
            rank = other->rank;
            after = i;
        }
    }
    return after;
}

static void judge_placed(void)
{
    int late = 0;

    for (int i = 0; i < PLACED; i++) {
        const struct placed_event *event = &placed_events[i];
        struct audit_held held = held_of(event->id, i);

        held.partition = event->partition;
        add_keyed(event->id, event->rank, event->key);
        add_held(held);
        late += model_after(i) >= 0;
    }
    compare();
    assert_counts(0, 0, late, 0, 0);
    for (int i = 0; i < late; i++)
        assert_int_equal(seen[i].after, model_after((int)seen[i].position));
}

TEST(events_of_a_key_that_are_sorted_in_runs_are_late_behind_the_highest_before_them)
{
    (void)seed_random();
    for (int i = 0; i < 20; i++) {
        make_placed(1 + random_below(3), 1 + random_below(3));
        audit_close(audit);
        assert_int_equal(open_audit((size_t)random_below(200 * 1024)), 0);
        judge_placed();
    }
}
