#include "trace/collector.h"

#include "base/clock.h"
#include "base/version.h"
#include "trace/headers.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES 16384 /* of an answer; a longer one is none of OTLP's */
#define URL_BYTES 2048
#define TRACES_PATH "/v1/traces"

struct collector {
    CURLM *multi;
    CURL *easy; /* NULL: it is not configured */
    struct curl_slist *headers;
    int64_t timeout_ms;
    char error[CURL_ERROR_SIZE];
    char body[BODY_BYTES]; /* of the last answer */
    size_t body_len;
};

void collector_init(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

char *collector_url(char *out, size_t size, const char *endpoint)
{
    const char *host = strstr(endpoint, "://");
    const char *path = host != NULL ? strchr(host + 3, '/') : NULL;
    bool is_bare = path == NULL || path[1] == '\0';

    (void)snprintf(out, size, "%.*s%s",
                   (int)(path != NULL && is_bare ? path - endpoint : URL_BYTES), endpoint,
                   is_bare ? TRACES_PATH : "");
    return out;
}

/* What does not fit ends the transfer. */
static size_t on_body(char *bytes, size_t size, size_t count, void *closure)
{
    struct collector *collector = closure;
    size_t len = size * count;

    if (len > sizeof collector->body - collector->body_len)
        return 0;
    memcpy(collector->body + collector->body_len, bytes, len);
    collector->body_len += len;
    return len;
}

struct collector *collector_open(void)
{
    struct collector *collector = calloc(1, sizeof *collector);

    if (collector != NULL)
        collector->multi = curl_multi_init();
    if (collector != NULL && collector->multi != NULL)
        return collector;
    free(collector);
    return NULL;
}

static void forget(struct collector *collector)
{
    curl_easy_cleanup(collector->easy);
    curl_slist_free_all(collector->headers);
    collector->easy = NULL;
    collector->headers = NULL;
}

void collector_close(struct collector *collector)
{
    if (collector == NULL)
        return;
    forget(collector);
    (void)curl_multi_cleanup(collector->multi);
    free(collector);
}

static void add_header(const char *line, void *closure)
{
    struct collector *collector = closure;
    struct curl_slist *longer = curl_slist_append(collector->headers, line);

    if (longer != NULL)
        collector->headers = longer;
}

static void set_options(struct collector *collector, const char *url, const char *ca_file)
{
    CURL *easy = collector->easy;

    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, collector->headers);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "outbox-relay/" RELAY_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)collector->timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, collector);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, collector->error);
#if LIBCURL_VERSION_NUM >= 0x075700 /* before it, the end of a transfer waits for a name lookup */
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (ca_file != NULL)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
}

int collector_configure(struct collector *collector, const struct trace_options *options)
{
    static const char *const own[] = {"Content-Type: application/json", "Expect:", NULL};
    char url[URL_BYTES];

    forget(collector);
    if (options->endpoint == NULL)
        return 0;
    collector->easy = curl_easy_init();
    for (int i = 0; own[i] != NULL; i++)
        add_header(own[i], collector);
    if (options->headers != NULL)
        (void)trace_headers_read(options->headers, add_header, collector);
    collector->timeout_ms = options->timeout_ms;
    if (collector->easy == NULL)
        return -1;
    set_options(collector, collector_url(url, sizeof url, options->endpoint), options->tls_ca_file);
    return 0;
}

/* ---- an answer ---- */

static void fail(struct collector_answer *answer, enum collector_result result, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));

static void fail(struct collector_answer *answer, enum collector_result result, const char *format,
                 ...)
{
    va_list args;

    answer->result = result;
    va_start(args, format);
    text_vformat(answer->error, sizeof answer->error, format, args);
    va_end(args);
}

/* In JSON a number of 64 bits is a string; some write it as a number. */
static int64_t read_count(const json_t *value)
{
    if (json_is_string(value))
        return strtoll(json_string_value(value), NULL, 10);
    return json_integer_value(value);
}

/* An ExportTraceServiceResponse, or nothing at all. */
static void read_body(const struct collector *collector, struct collector_answer *answer)
{
    json_t *body = json_loadb(collector->body, collector->body_len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *partial = json_object_get(body, "partialSuccess");
    const char *message = json_string_value(json_object_get(partial, "errorMessage"));
    int64_t rejected = read_count(json_object_get(partial, "rejectedSpans"));

    if (collector->body_len > 0 && !json_is_object(body))
        fail(answer, COLLECTOR_REFUSED, "it answers with what is not OTLP: is it a collector?");
    else if (rejected > 0) {
        answer->rejected = rejected < QUEUE_SPANS ? (unsigned)rejected : QUEUE_SPANS;
        fail(answer, COLLECTOR_TOOK, "it has rejected spans: %s", message != NULL ? message : "");
    }
    json_decref(body);
}

/* The OTLP specification, "Failures" of OTLP/HTTP, has the four that may pass. */
static void read_status(struct collector *collector, long status, struct collector_answer *answer)
{
    curl_off_t after_s = 0;

    if (status >= 200 && status <= 299) {
        read_body(collector, answer);
    } else if (status == 429 || (status >= 502 && status <= 504)) {
        fail(answer, COLLECTOR_AWAY, "it answers HTTP %ld", status);
        (void)curl_easy_getinfo(collector->easy, CURLINFO_RETRY_AFTER, &after_s);
        answer->retry_after_ms = after_s < INT32_MAX ? (int64_t)after_s * 1000 : INT32_MAX;
    } else {
        fail(answer, COLLECTOR_REFUSED, "it answers HTTP %ld", status);
    }
}

static void judge(struct collector *collector, const CURLMsg *ended,
                  struct collector_answer *answer)
{
    CURLcode code = ended != NULL ? ended->data.result : CURLE_OPERATION_TIMEDOUT;
    long status = 0;

    (void)curl_easy_getinfo(collector->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK)
        read_status(collector, status, answer);
    else if (code == CURLE_WRITE_ERROR)
        fail(answer, COLLECTOR_REFUSED, "it answers HTTP %ld with more than %d bytes", status,
             BODY_BYTES);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        fail(answer, COLLECTOR_AWAY, "it has not answered for %" PRId64 " ms", answer->took_ms);
    else
        fail(answer, COLLECTOR_AWAY, "%s",
             collector->error[0] != '\0' ? collector->error : curl_easy_strerror(code));
}

void collector_send(struct collector *collector, const struct document *document,
                    const _Atomic int64_t *leave_at_ms, struct collector_answer *answer)
{
    int64_t began_ms = clock_now_ms();
    int running = 1;
    int left = 0;

    *answer = (struct collector_answer){.result = COLLECTOR_TOOK};
    collector->body_len = 0;
    collector->error[0] = '\0';
    (void)curl_easy_setopt(collector->easy, CURLOPT_POSTFIELDS, document->text);
    (void)curl_easy_setopt(collector->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)document->len);
    if (curl_multi_add_handle(collector->multi, collector->easy) != CURLM_OK) {
        fail(answer, COLLECTOR_AWAY, "out of memory");
        return;
    }
    while (curl_multi_perform(collector->multi, &running) == CURLM_OK && running > 0 &&
           clock_left_ms(atomic_load(leave_at_ms)) > 0)
        (void)curl_multi_poll(collector->multi, NULL, 0, clock_left_ms(atomic_load(leave_at_ms)),
                              NULL);
    answer->took_ms = clock_now_ms() - began_ms;
    judge(collector, curl_multi_info_read(collector->multi, &left), answer);
    (void)curl_multi_remove_handle(collector->multi, collector->easy);
}

void collector_wait(struct collector *collector, int64_t wait_ms)
{
    (void)curl_multi_poll(collector->multi, NULL, 0, (int)wait_ms, NULL);
}

void collector_wake(struct collector *collector)
{
    (void)curl_multi_wakeup(collector->multi);
}
