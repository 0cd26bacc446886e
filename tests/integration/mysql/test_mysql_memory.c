/* Without memory nothing is done by halves: a condition or a filter that is left out would choose
 * other rows. */
#include "integration/mysql/lane_fixture.h"

#include "mysql/admin.h"
#include "mysql/parked.h"

#include <dlfcn.h>

FIXTURE(set_up, tear_down)

static int calls_left = -1; /* until one of the functions below fails; -1: none does */
static pthread_t failing;

static bool fails(void)
{
    return calls_left >= 0 && pthread_equal(failing, pthread_self()) && calls_left-- == 0;
}

static int print(char **text, const char *format, va_list args)
{
    va_list again;
    int len;

    if (fails())
        return -1;
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = malloc((size_t)len + 1);
    return *text != NULL ? vsnprintf(*text, (size_t)len + 1, format, args) : -1;
}

/* In place of the C library's; the second one is the first as a compiler's checks call it. */
int vasprintf(char **text, const char *format, va_list args)
{
    return print(text, format, args);
}

int __vasprintf_chk(char **text, int flag, const char *format, va_list args);
int __vasprintf_chk(char **text, int flag, const char *format, va_list args)
{
    (void)flag;
    return print(text, format, args);
}

FILE *open_memstream(char **text, size_t *size)
{
    FILE *(*real)(char **, size_t *);

    if (fails())
        return NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "open_memstream");
    return real(text, size);
}

static void fail_at(int call)
{
    failing = pthread_self();
    calls_left = call;
}

TEST(a_description_without_memory_lacks_no_condition)
{
    struct lane_fixture *fixture = *state;
    struct tables tables;
    int status = -1;
    int call;

    for (call = 0; status < 0; call++) {
        fail_at(call);
        status = tables_describe(&tables, &fixture->options, &fixture->db, &fixture->error);
        if (calls_left < 0) /* one has failed */
            assert_int_equal(status, -1);
        tables_free(&tables);
    }
    calls_left = -1;
    assert_true(call > 40);
}

static void on_row(void *closure, const json_t *row)
{
    (void)closure;
    (void)row;
}

TEST(a_filter_without_memory_chooses_no_rows)
{
    struct lane_fixture *fixture = *state;
    const struct parked_reader reader = {on_row, NULL};
    const struct parked_request requests[] = {
        {.type = "none"}, {.topic = "none"}, {.topic = "none.*"}, {.since = "0s"}};
    struct admin *admin = admin_open(&fixture->options, &fixture->error);

    assert_non_null(admin);
    sql(fixture, "INSERT INTO outbox_parked (id, topic, type, state) VALUES (1, 't', 'x', 'dead')");
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        for (int call = 0; call < 4; call++) {
            fail_at(call);
            (void)parked_change(admin, PARKED_DROP, &requests[i], false, &reader, &fixture->error);
            assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 1);
        }
    calls_left = -1;
    admin_close(admin);
}
