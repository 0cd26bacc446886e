#include "cli/cli.h"

#include "admin/admin.h"
#include "base/bounded_call.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "broker/broker.h"
#include "cli/terminal.h"
#include "config/config.h"
#include "http/http.h"
#include "relay/relay.h"

#include <stdio.h>
#include <stdlib.h>
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

struct running {
    struct config *config; /* allocated; it outlives the relay */
    struct relay *relay;
};

struct reload {
    const struct arguments *arguments;
    struct running now;
    struct running next; /* takes over from `now`, once SIGHUP has come */
};

static void end(struct running *running)
{
    relay_close(running->relay);
    if (running->config != NULL)
        config_free(running->config);
    free(running->config);
    *running = (struct running){0};
}

static void log_change(const char *text)
{
    log_info("%s", text);
}

/* Whatever can be refused is refused here, before anything is replaced. */
static bool read_again(void *closure)
{
    struct reload *reload = closure;
    const struct arguments *arguments = reload->arguments;
    struct running next = {.config = calloc(1, sizeof *next.config)};
    struct config_problems problems = {0};
    struct error error = {0};

    if (next.config == NULL)
        (void)error_no_memory(&error);
    else if (config_load(next.config, arguments->config, &problems) == 0)
        next.relay = relay_open(&next.config->relay, arguments->drain, &error);
    cli_log_problems(&problems);
    config_problems_free(&problems);
    if (next.relay == NULL || relay_try(next.relay, &error) < 0) {
        log_event(LOG_ERROR, LOG_FIELDS(.error = error.text, .hint = error.hint),
                  "SIGHUP: the running configuration stays");
        end(&next);
        return false;
    }
    log_info("SIGHUP: %s is read again", next.config->path);
    config_compare(reload->now.config, next.config, log_change);
    end(&reload->next); /* of an earlier SIGHUP */
    reload->next = next;
    return true;
}

static enum relay_result run_now(struct reload *reload, struct error *error)
{
    struct running *now = &reload->now;
    struct drain drain = {.report = relay_report(now->relay)};
    struct http *http = NULL;
    enum relay_result result;

    /* A drain is short and may run beside relays that use the port. */
    if (reload->arguments->drain) {
        progress_begin(&drain.progress, "sent", count_unsent(&now->config->relay.outbox));
        relay_on_tick(now->relay, show_drain, &drain);
    } else {
        http = http_open(now->config->http_listen, drain.report);
    }
    relay_on_hangup(now->relay, read_again, reload);
    result = relay_run(now->relay, error);
    if (result == RELAY_ABORTED)
        return result;
    if (http_close(http) && !bounded_call_any_timed_out()) {
        end(now);
        return result;
    }
    relay_close(now->relay); /* a thread that hangs may still read the configuration */
    *now = (struct running){0};
    return result;
}

/* Each time SIGHUP comes, another relay with another configuration goes on. */
static enum relay_result run_until_end(const struct arguments *arguments, struct config *config,
                                       struct error *error)
{
    struct reload reload = {.arguments = arguments, .now.config = malloc(sizeof *config)};
    enum relay_result result = RELAY_REPLACED;

    if (reload.now.config == NULL) {
        (void)error_no_memory(error);
        return RELAY_FAILED;
    }
    *reload.now.config = *config;
    *config = (struct config){0};
    reload.now.relay = relay_open(&reload.now.config->relay, arguments->drain, error);
    if (reload.now.relay == NULL)
        return RELAY_FAILED;
    while (result == RELAY_REPLACED) {
        result = run_now(&reload, error);
        if (result == RELAY_REPLACED) {
            reload.now = reload.next;
            reload.next = (struct running){0};
            log_configure(reload.now.config->log_level, reload.now.config->log_format);
        }
    }
    if (result == RELAY_ABORTED)
        return result;
    end(&reload.next);
    broker_end();
    return result;
}

static enum exit_status run(const struct arguments *arguments, struct config *config)
{
    struct error error;

    switch (run_until_end(arguments, config, &error)) {
    case RELAY_STOPPED:
    case RELAY_DRAINED:
        return EXIT_DONE;
    case RELAY_LEFTOVER:
        log_event(LOG_WARN, LOG_FIELDS(.hint = "outbox-relay status, outbox-relay dead list"),
                  "parked or dead rows remain, or rows without an id");
        return EXIT_RUNTIME;
    case RELAY_ABORTED:
        log_warn("exiting at once: events that were not settled will be sent again");
        _exit(EXIT_RUNTIME); /* threads are still running, so nothing can be freed */
    case RELAY_REPLACED:
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
    enum exit_status status = run(arguments, config);

    log_limit_flush(clock_now_ms());
    if (fflush(stdout) != 0)
        return status;
    _exit((int)status);
}
