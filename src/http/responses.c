#include "http/responses.h"

#include "base/clock.h"
#include "base/text.h"
#include "http/metrics.h"
#include "http/page_hashes.h" /* made with the program, of config/status-page.html */
#include "source/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "text/plain; charset=utf-8"
/* The page's own style and script, which make nothing of texts but text. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; style-src '" PAGE_STYLE "'; script-src '" PAGE_SCRIPT                     \
    "'; require-trusted-types-for 'script'; connect-src 'self'; img-src data:; base-uri 'none';"   \
    " form-action 'none'; frame-ancestors 'none'"

extern const char embedded_status_page[]; /* config/status-page.html */

static int put_page(FILE *out, const struct response_source *source)
{
    (void)source;
    (void)fputs(embedded_status_page, out);
    return 200;
}

static int put_metrics(FILE *out, const struct response_source *source)
{
    const struct sample *sample = sampler_lock(source->sampler);
    json_t *document = status_document(source->options, source->report, sample);

    metrics_put(out, document, source->report);
    json_decref(document);
    sampler_unlock(source->sampler);
    return 200;
}

static int put_health(FILE *out, const struct response_source *source)
{
    char why[256];
    bool healthy = report_is_healthy(source->report, why, sizeof why);

    (void)fprintf(out, "%s\n", healthy ? "ok" : why);
    return healthy ? 200 : 503;
}

/* False: the peer is not usable, and a line of the response says so. */
static bool judge_peer(FILE *out, const struct peer_report *peer, const char *kind)
{
    char text[2 * sizeof peer->error.text];

    if (peer->state == PEER_UP || peer->state == PEER_PAUSED)
        return true;
    (void)fprintf(out, "%s%s: ", kind, peer->name);
    if (peer->state == PEER_UNKNOWN)
        (void)fprintf(out, "no lane has reached it yet");
    else
        (void)fprintf(out, "%s for %" PRId64 " s",
                      peer->type != NULL || trouble_is_of_absence(&peer->error) ? "away"
                                                                                : "not usable",
                      peer->state_for_ms / 1000);
    if (peer->error_for_ms >= 0)
        (void)fprintf(out, ": %s",
                      text_escape(text, sizeof text, peer->error.text, strlen(peer->error.text)));
    (void)fprintf(out, "\n");
    return false;
}

static int put_readiness(FILE *out, const struct response_source *source)
{
    const struct relay_report *report = source->report;
    bool ready = judge_peer(out, &report->peers[REPORT_DATABASE], "");
    const struct sample *sample = sampler_lock(source->sampler);
    char text[2 * sizeof sample->error.text];

    /* Idle lanes notice later that their connections are gone. */
    if (ready && sample_is_unconnected(sample)) {
        (void)fprintf(
            out, "database: %s\n",
            text_escape(text, sizeof text, sample->error.text, strlen(sample->error.text)));
        ready = false;
    }
    sampler_unlock(source->sampler);
    for (int i = 0; i < report->sink_count; i++)
        ready = judge_peer(out, &report->peers[i], "sink ") && ready;
    if (ready)
        (void)fprintf(out, "ready\n");
    return ready ? 200 : 503;
}

static int put_status(FILE *out, const struct response_source *source)
{
    const struct sample *sample;
    json_t *document;
    bool is_known;
    char *json;

    sampler_want_relays(source->sampler);
    sample = sampler_lock(source->sampler);
    is_known = sample->document != NULL;
    document = status_document(source->options, source->report, sample);
    (void)json_object_set_new(document, "history", history_pack(&sample->history, clock_now_ms()));
    json = status_dump(document);
    json_decref(document);
    sampler_unlock(source->sampler);
    (void)fprintf(out, "%s\n", json != NULL ? json : "{\"error\":\"out of memory\"}");
    free(json);
    return json != NULL && is_known ? 200 : 503;
}

static struct response say(int code, const char *text)
{
    return (struct response){
        .code = code, .type = PLAIN, .body = strdup(text), .len = strlen(text)};
}

static struct response make(const char *type, int (*put)(FILE *out, const struct response_source *),
                            const struct response_source *source)
{
    struct response response = {.type = type};
    FILE *out = open_memstream(&response.body, &response.len);

    if (out == NULL)
        return response;
    response.code = put(out, source);
    if (fclose(out) != 0) {
        free(response.body);
        response.body = NULL;
    }
    return response;
}

struct response response_for_path(const char *path, const struct response_source *source)
{
    static const struct {
        const char *path;
        const char *type;
        int (*put)(FILE *out, const struct response_source *);
        const char *policy;
    } paths[] = {
        {"/", "text/html; charset=utf-8", put_page, PAGE_POLICY},
        {"/metrics", "text/plain; version=0.0.4; charset=utf-8", put_metrics, NULL},
        {"/healthz", PLAIN, put_health, NULL},
        {"/readyz", PLAIN, put_readiness, NULL},
        {"/status", "application/json", put_status, NULL},
    };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(path, paths[i].path) == 0) {
            struct response response = make(paths[i].type, paths[i].put, source);

            response.policy = paths[i].policy;
            return response;
        }
    return say(404, "not found; try: /, /metrics, /healthz, /readyz, /status\n");
}

struct response response_to_host(void)
{
    return say(421, "[http] listen is a loopback address, so the Host must name the loopback:"
                    " localhost, 127.0.0.1 or [::1]\n");
}

struct response response_to_method(void)
{
    return say(405, "GET and HEAD only\n");
}
