#include "outbox/row.h"
#include "unit/seed.h"

#include <stdio.h>
#include <string.h>

/* ---- uuids ---- */

TEST(a_uuid_is_written_as_postgresql_does)
{
    char text[ROW_UUID_BYTES];

    row_uuid(text, "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10");
    assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

/* ---- times ---- */

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)
#define YEAR_0 INT64_C(-63113904000000000)
#define YEAR_10000 INT64_C(252455616000000000)

struct moment {
    int64_t microseconds; /* as `SELECT extract(epoch FROM t - '2000-01-01Z') * 1000000` has it */
    const char *text;     /* "": none */
};

static const struct moment moments[] = {
    {0, "2000-01-01T00:00:00.000000Z"},
    {1, "2000-01-01T00:00:00.000001Z"},
    {-1, "1999-12-31T23:59:59.999999Z"},
    {-SECOND, "1999-12-31T23:59:59.000000Z"},
    {INT64_C(5142896789012), "2000-02-29T12:34:56.789012Z"},
    {INT64_C(3160857599000000), "2100-02-28T23:59:59.000000Z"},
    {INT64_C(3160857600000000), "2100-03-01T00:00:00.000000Z"},
    {INT64_C(-3150576000000000), "1900-03-01T00:00:00.000000Z"},
    {INT64_C(-946684800000000), "1970-01-01T00:00:00.000000Z"},
    {INT64_C(-946684800000001), "1969-12-31T23:59:59.999999Z"},
    {INT64_C(1200798848000000), "2038-01-19T03:14:08.000000Z"},
    {INT64_C(762480000000000), "2024-02-29T00:00:00.000000Z"},
    {INT64_C(785463249000001), "2024-11-21T00:14:09.000001Z"},
    {INT64_C(-63082281600000000), "0001-01-01T00:00:00.000000Z"},
    {YEAR_0, "0000-01-01T00:00:00.000000Z"}, /* 1 BC */
    {YEAR_10000 - 1, "9999-12-31T23:59:59.999999Z"},
    /* What has no four-digit year, and no date at all. */
    {YEAR_0 - 1, ""},
    {YEAR_10000, ""},
    {INT64_C(-211813488000000000), ""}, /* 4714-11-24 BC, PostgreSQL's first */
    {INT64_C(9223371331199999999), ""}, /* 294276-12-31, its last */
    {INT64_MAX, ""},                    /* infinity */
    {INT64_MIN, ""},                    /* -infinity */
    {INT64_MAX - 1, ""},
    {INT64_MIN + 1, ""},
};

TEST(known_moments_are_written_as_rfc_3339)
{
    char out[ROW_TIME_BYTES];

    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        size_t len = row_time(out, moments[i].microseconds);

        assert_int_equal(len, strlen(moments[i].text));
        if (len > 0)
            assert_string_equal(out, moments[i].text);
    }
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

/* From 0000 to 9999, counting days: the leap days fall out of the sum. */
TEST(the_first_and_last_day_of_every_month_are_right)
{
    int64_t day = YEAR_0 / DAY;
    char want[64];
    char out[ROW_TIME_BYTES];

    for (int year = 0; year <= 9999; year++)
        for (int month = 1; month <= 12; month++) {
            (void)snprintf(want, sizeof want, "%04d-%02d-01T00:00:00.000000Z", year, month);
            assert_int_equal(row_time(out, day * DAY), 27);
            assert_string_equal(out, want);
            day += days_of(year, month);
            (void)snprintf(want, sizeof want, "%04d-%02d-%02dT23:59:59.999999Z", year, month,
                           days_of(year, month));
            assert_int_equal(row_time(out, day * DAY - 1), 27);
            assert_string_equal(out, want);
        }
    assert_int_equal(row_time(out, day * DAY), 0);
}
