#include "trace/collector.h"
#include "trace/headers.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

static char taken[1024];

static void take(const char *line, void *closure)
{
    size_t len = strlen(taken);

    assert_ptr_equal(closure, taken);
    (void)snprintf(taken + len, sizeof taken - len, "%s\n", line);
}

TEST(headers_are_read_as_the_variable_of_opentelemetry_has_them)
{
    assert_null(trace_headers_read(
        "authorization=Basic%20YTpi==, x-tenant=a%2Cb,,x-more=100%,x-nul=%00,x-empty=", take,
        taken));
    assert_string_equal(taken, "authorization: Basic YTpi==\nx-tenant: a,b\nx-more: 100%\n"
                               "x-nul: %00\nx-empty: \n");
}

TEST(an_endpoint_without_a_path_gets_that_of_the_specification)
{
    static const char *const urls[][2] = {
        {"http://localhost:4318", "http://localhost:4318/v1/traces"},
        {"http://localhost:4318/", "http://localhost:4318/v1/traces"},
        {"https://[::1]/otlp/v1/traces", "https://[::1]/otlp/v1/traces"},
        {"https://h/x/", "https://h/x/"},
    };
    char url[256];

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_string_equal(collector_url(url, sizeof url, urls[i][0]), urls[i][1]);
}
