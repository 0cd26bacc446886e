#include "cli/cli.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "cli/terminal.h"
#include "config/config.h"
#include "http/http.h"
#include "relay/relay.h"
#include "source/admin.h"
#include "source/source.h"
#include "trace/trace.h"

#include <stdio.h>
#include <unistd.h>

/* How far a drain is. */
struct drain {
    struct progress progress;
    const struct report *report;
};

static void show_drain(void *closure)
{
    struct drain *drain = closure;

    progress_show(&drain->progress, (int64_t)report_total(drain->report, REPORT_SENT), -1);
}

/* -1: unknown; the relay itself will report why. */
static int64_t count_unsent(const struct outbox_options *options)
{
    struct error ignored;
    struct admin *admin = admin_open(options, &ignored);
    int64_t total = admin != NULL ? admin_count_unsent(admin, &ignored) : -1;

    admin_close(admin);
    return total;
}

/* What SIGHUP reads again. */
struct reloading {
    struct trace *trace;
    const char *path;     /* as given with -c; NULL: the usual places */
    struct config config; /* as it is now; its strings are those of the first one, but in [trace] */
};

static void log_change(const struct config_change *change, void *closure)
{
    (void)closure;
    if (change->applied)
        log_info("%s = %s, was %s", change->key, change->after, change->before);
    else
        log_warn("%s = %s needs a restart, because connections, threads or statements were made"
                 " with it; it stays %s",
                 change->key, change->after, change->before);
}

static const struct relay_options *reload(void *closure)
{
    struct reloading *reloading = closure;
    struct config *config = &reloading->config;
    struct config_problems problems;
    struct config next;
    int loaded = config_load(&next, reloading->path, &problems);

    cli_log_problems(&problems);
    config_problems_free(&problems);
    if (loaded == 0) {
        log_info("SIGHUP: %s is read again", next.path);
        config_reload(config, &next, log_change, NULL);
        log_configure(config->log_level, config->log_format);
        trace_configure(reloading->trace, &config->trace);
    } else {
        log_error("SIGHUP: the running configuration stays");
    }
    config_free(&next);
    return loaded == 0 ? &config->relay : NULL;
}

static enum exit_status run(const struct arguments *arguments, struct config *config)
{
    struct reloading reloading = {.path = arguments->config, .config = *config};
    struct drain drain;
    struct error error;
    int64_t total = arguments->drain ? count_unsent(&config->relay.outbox) : -1;
    struct relay *relay = relay_open(&config->relay, arguments->drain, &error);
    enum relay_result result = RELAY_FAILED;
    struct http *http = NULL;

    if (relay != NULL) {
        reloading.trace = trace_open(&config->trace, relay_report(relay)->name);
        relay_trace(relay, reloading.trace);
        config->trace = (struct trace_options){0}; /* the copy's now, which SIGHUP changes */
    }
    /* A drain is short and may run beside relays that use the port. */
    if (relay != NULL && !arguments->drain)
        http = http_open(config->http_listen, relay_report(relay));
    if (relay != NULL && arguments->drain) {
        progress_begin(&drain.progress, "sent", total);
        drain.report = relay_report(relay);
        relay_on_tick(relay, show_drain, &drain);
    }
    if (relay != NULL)
        relay_on_hangup(relay, reload, &reloading);
    if (relay != NULL)
        result = relay_run(relay, &error);
    if (result != RELAY_ABORTED) {
        http_close(http);
        trace_close(reloading.trace);
        relay_close(relay);
    }
    switch (result) {
    case RELAY_STOPPED:
    case RELAY_DRAINED:
        return EXIT_DONE;
    case RELAY_LEFTOVER:
        (void)error_hint(&error, "%s status, %s dead list", source_program, source_program);
        log_event(LOG_WARN, LOG_FIELDS(.hint = error.hint),
                  "parked or dead rows remain, or rows without an id or a number");
        return EXIT_RUNTIME;
    case RELAY_ABORTED:
        log_warn("exiting at once: events that were not settled will be sent again");
        _exit(EXIT_RUNTIME); /* threads are still running, so nothing can be freed */
    case RELAY_FAILED:
        break;
    }
    log_event(LOG_ERROR, LOG_FIELDS(.error = error.text, .hint = error.hint), "the relay ends");
    return cli_status_of(&error);
}

/* Does not return, because during exit(3), nats.c and OpenSSL may free the same memory twice, and a
 * relay that has settled everything would seem to have crashed. */
enum exit_status cli_run(const struct arguments *arguments, struct config *config)
{
    enum exit_status status;

    trace_init();
    status = run(arguments, config);

    log_limit_flush(clock_now_ms());
    if (fflush(stdout) != 0)
        return status;
    _exit((int)status);
}
