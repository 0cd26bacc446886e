/* Whatever keeps the lanes from progress is said by status within seconds, with what mends it; and
 * tries are far apart. */
#include "integration/http.h"

#include <jansson.h>

static char admin_config[256];

/* The relay is no superuser, whoever asks is one. */
static void configure_both(struct fixture *fixture)
{
    const char *at = strchr(fixture->url, '@');

    (void)close(take_port());
    write_relay_toml(fixture,
                     "[outbox]\nslices = 4\nwhere = \"public.may_go(topic)\"\n"
                     "[relay]\npoll_interval = \"50ms\"\nlanes = 2\n"
                     "[http]\nlisten = \"127.0.0.1:%d\"\n" STDOUT_SINK "\n",
                     port);
    (void)snprintf(admin_config, sizeof admin_config, "%s",
                   harness_file("admin.toml",
                                "[database]\nurl = \"postgresql://postgres%s\"\n"
                                "allow_superuser = true\n[outbox]\nslices = 4\n"
                                "where = \"public.may_go(topic)\"\n" STDOUT_SINK "\n",
                                at));
    sql(fixture->conn, "CREATE FUNCTION public.may_go(text) RETURNS boolean IMMUTABLE"
                       " LANGUAGE sql AS 'SELECT true'");
}

static int set_up_both(void **state)
{
    return fixture_open(state, configure_both);
}

FIXTURE(set_up_both, fixture_close)

static json_t *ask_status(struct fixture *fixture)
{
    struct process asked;
    json_t *status;

    (void)fixture;
    (void)process_run(&asked, NULL, "status", "--json", "-c", admin_config, NULL);
    if (asked.status != 0)
        fail_msg("status: %s", asked.err);
    status = json_loads(asked.out, 0, NULL);
    assert_non_null(status);
    process_free(&asked);
    return status;
}

/* The text of the attention line that has these words; "" when none has. */
static void find_attention(const json_t *status, const char *words, char *text, char *fix)
{
    const json_t *list = json_object_get(status, "attention");

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *has_fix = json_string_value(json_object_get(item, "fix"));
        const char *has = json_string_value(json_object_get(item, "text"));

        if (strstr(has, "no progress") != NULL && strstr(has, words) != NULL) {
            (void)snprintf(text, 1024, "%s", has);
            (void)snprintf(fix, 1024, "%s", has_fix != NULL ? has_fix : "");
        }
    }
}

/* How long it took. */
static int64_t await_attention(struct fixture *fixture, const char *words, const char *remedy)
{
    int64_t began_ms = harness_now_ms();
    char text[1024];
    char fix[1024] = "";

    await_answer("/status", 200, words); /* which asks PostgreSQL for less than the command */
    for (;;) {
        json_t *status = ask_status(fixture);

        find_attention(status, words, text, fix);
        if (text[0] == '\0' && harness_now_ms() - began_ms > HARNESS_WAIT_MS)
            fail_msg("status has not said \"%s\": %s", words, json_dumps(status, 0));
        json_decref(status);
        if (text[0] != '\0')
            break;
        harness_pause_since(began_ms);
    }
    assert_says(fix, remedy);
    return harness_now_ms() - began_ms;
}

/* The command has to wait for the same lock, and says so. */
static int64_t await_refusal(struct fixture *fixture, const char *words, const char *remedy)
{
    int64_t began_ms = harness_now_ms();
    struct process asked;

    (void)fixture;
    (void)process_run(&asked, NULL, "status", "--json", "-c", admin_config, NULL);
    assert_says(asked.status == 0 ? asked.out : asked.err, words);
    assert_says(asked.status == 0 ? asked.out : asked.err, remedy);
    process_free(&asked);
    await_answer("/status", 200, remedy);
    return harness_now_ms() - began_ms;
}

static const struct form {
    const char *breaks;
    const char *says;
    const char *remedy;
    const char *mends;
} forms[] = {
    {"REVOKE UPDATE ON outbox FROM " HARNESS_RELAY, "permission denied for table outbox",
     "outbox-relay check", "GRANT UPDATE ON outbox TO " HARNESS_RELAY},
    {"REVOKE UPDATE ON outbox_slice FROM " HARNESS_RELAY,
     "permission denied for table outbox_slice", "outbox-relay check",
     "GRANT UPDATE ON outbox_slice TO " HARNESS_RELAY},
    {"REVOKE SELECT ON outbox_control FROM " HARNESS_RELAY,
     "permission denied for table outbox_control", "outbox-relay check",
     "GRANT SELECT ON outbox_control TO " HARNESS_RELAY},
    {"REVOKE SELECT ON outbox_parked FROM " HARNESS_RELAY,
     "permission denied for table outbox_parked", "outbox-relay check",
     "GRANT SELECT ON outbox_parked TO " HARNESS_RELAY},
    {"ALTER TABLE outbox ENABLE ROW LEVEL SECURITY; ALTER TABLE outbox FORCE ROW LEVEL SECURITY",
     "row-level security", "NO FORCE ROW LEVEL SECURITY",
     "ALTER TABLE outbox DISABLE ROW LEVEL SECURITY; ALTER TABLE outbox NO FORCE ROW LEVEL SECURITY"},
    {"REVOKE EXECUTE ON FUNCTION public.may_go FROM PUBLIC",
     "permission denied for function may_go", "outbox-relay",
     "GRANT EXECUTE ON FUNCTION public.may_go TO PUBLIC"},
    {"BEGIN; SELECT FROM outbox_slice FOR UPDATE", "are locked, so no lane can claim",
     "pg_terminate_backend", "COMMIT"},
    {"BEGIN; UPDATE outbox_slice SET slices = slices WHERE slice = 0",
     "are locked, so no lane can claim", "pg_terminate_backend", "COMMIT"},
    {"BEGIN; SELECT FROM outbox_slice FOR NO KEY UPDATE; PREPARE TRANSACTION 'it''s'",
     "by prepared transaction 'it''s' on outbox_slice", "ROLLBACK PREPARED 'it''s'",
     "COMMIT PREPARED 'it''s'"},
    {"BEGIN; LOCK TABLE outbox_slice IN ACCESS EXCLUSIVE MODE", "lock timeout",
     "pg_terminate_backend", "COMMIT"},
    {"BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE", "lock timeout", "pg_terminate_backend",
     "COMMIT"},
};

FIXTURE_TEST(whatever_keeps_the_lanes_from_progress_is_said_with_its_remedy_and_ends_with_its_cause)
{
    PGconn *other = harness_connect(fixture->url);

    start(fixture);
    await_answer("/readyz", 200, "ready");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int64_t took_ms;
        bool is_lock = strstr(forms[i].breaks, "LOCK TABLE") != NULL;

        sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 't', n, '1'"
                           " FROM generate_series(1, 4) n");
        wait_for_number(fixture->conn, 0, UNSENT);
        sql(other, "%s", forms[i].breaks);
        sql(is_lock ? other : fixture->conn,
            "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'k', '1')");
        took_ms = is_lock ? await_refusal(fixture, forms[i].says, forms[i].remedy)
                          : await_attention(fixture, forms[i].says, forms[i].remedy);
        print_message("%s: %lld ms\n", forms[i].breaks, (long long)took_ms);
        if (is_lock || strncmp(forms[i].breaks, "BEGIN", 5) != 0) /* other lanes have no error */
            await_answer("/status", 200, "\"database\":{\"state\":\"failing\"");
        await_answer("/status", 200, forms[i].says);
        assert_null(strstr(answer, "start it anew"));
        sql(other, "%s", forms[i].mends);
        wait_for_number(fixture->conn, 0, UNSENT);
        await_answer("/status", 200, "\"troubles\":[],\"sinks\"");
    }
    PQfinish(other);
    stop_relay(fixture);
}
