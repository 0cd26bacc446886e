/*
 * The stream: does it exist, does it acknowledge, does it keep what it acknowledges, add it.
 *
 * What makes acknowledgements impossible is an error, what weakens the guarantee a warning. A
 * stream that exists is never altered: its owner is told the command that would.
 */

#include "broker/nats.h"

#include "core/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX 640
#define SUBJECTS_BYTES_MAX 512
#define NS_PER_MS 1000000

static int fail(struct nats *nats, struct error *error, enum error_kind kind, const char *why)
{
    char text[TEXT_BYTES_MAX];

    (void)snprintf(text, sizeof text, "stream \"%s\": %s", nats->base.options->stream, why);
    return nats_fail(nats, error, kind, text);
}

/* What the stream has to take, as far as it is known; a regular expression names no subjects. How
 * many there are. */
static int subjects_of(const struct nats *nats, const char *destination,
                       const char *subjects[SINK_LIST_MAX])
{
    const struct text_list *allow = &nats->base.options->allow;
    int count = 0;

    for (int i = 0; i < allow->count; i++)
        if (strncmp(allow->items[i], "re:", 3) != 0)
            subjects[count++] = allow->items[i];
    if (count == 0 && destination != NULL && strncmp(destination, "re:", 3) != 0)
        subjects[count++] = destination;
    return count;
}

/* "a.>,b" */
static void format_subjects(const char *const *subjects, int count, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < count && len < size; i++) {
        int added = snprintf(out + len, size - len, "%s%s", i > 0 ? "," : "", subjects[i]);

        len += added > 0 ? (size_t)added : 0;
    }
}

/* An example when no subject is known. Not '>': newer servers let such a stream acknowledge
 * nothing. */
static int fail_missing(struct nats *nats, const char *destination, struct error *error)
{
    const char *stream = nats->base.options->stream;
    const char *known[SINK_LIST_MAX];
    char subjects[SUBJECTS_BYTES_MAX];
    char why[TEXT_BYTES_MAX] = "there is no such stream";
    int count = subjects_of(nats, destination, known);

    format_subjects(known, count, subjects, sizeof subjects);
    if (count == 0) {
        (void)snprintf(subjects, sizeof subjects, "%s.>", stream);
        (void)snprintf(why, sizeof why,
                       "there is no such stream; allow names no subjects: put yours in the place "
                       "of '%s' below",
                       subjects);
    }
    fail(nats, error, ERROR_PERMANENT, why);
    return error_hint(
        error, "nats stream add %s --subjects '%s' --storage file --dupe-window 2m --defaults",
        stream, subjects);
}

/* A stream that takes "*.>" or ">" takes the question too, and answers as to any message. */
static int check_info(struct nats *nats, jsStreamInfo **info, struct error *error)
{
    if ((*info)->Config != NULL)
        return 0;
    jsStreamInfo_Destroy(*info);
    *info = NULL;
    return fail(nats, error, ERROR_PERMANENT,
                "the answer about it was none: does a stream take $JS.API.> as a subject?");
}

/* 0 with the information, which the caller destroys, or NULL when there is no such stream. */
static int ask(struct nats *nats, jsStreamInfo **info, struct error *error)
{
    const char *stream = nats->base.options->stream;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(info, nats->context, stream, NULL, &code);

    if (status == NATS_OK)
        return check_info(nats, info, error);
    *info = NULL;
    if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr)
        return 0;
    if (status == NATS_NO_RESPONDERS || code == JSNotEnabledErr ||
        code == JSNotEnabledForAccountErr)
        return fail(nats, error, ERROR_PERMANENT, "JetStream is not enabled on this server");
    if (status == NATS_TIMEOUT) {
        fail(nats, error, ERROR_TRANSIENT, "no answer about it");
        return error_hint(
            error,
            "the user needs the permissions to publish to $JS.API.STREAM.INFO.%s and to subscribe "
            "to _INBOX.>",
            stream);
    }
    return fail(nats, error, ERROR_TRANSIENT, nats_text(status));
}

static int add(struct nats *nats, const char *destination, struct error *error)
{
    const struct sink_options *options = nats->base.options;
    const char *subjects[SINK_LIST_MAX];
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus status = jsStreamConfig_Init(&config);

    config.Name = options->stream;
    config.Subjects = subjects;
    config.SubjectsLen = subjects_of(nats, destination, subjects);
    config.Storage = js_FileStorage;
    if (config.SubjectsLen == 0)
        return fail(nats, error, ERROR_PERMANENT, "cannot be added: allow names its subjects");
    if (status == NATS_OK)
        status = js_AddStream(NULL, nats->context, &config, NULL, &code);
    /* Another relay may have been first. */
    if (status == NATS_OK || code == JSStreamNameExistErr)
        return 0;
    return fail(nats, error, code != 0 ? ERROR_PERMANENT : ERROR_TRANSIENT, nats_text(status));
}

static int check_config(struct nats *nats, const jsStreamConfig *config, struct error *error)
{
    if (!config->NoAck)
        return 0;
    fail(nats, error, ERROR_PERMANENT, "stream has no_ack: it never acknowledges a message");
    return error_hint(error, "nats stream edit %s --ack", nats->base.options->stream);
}

int nats_check_stream(struct nats *nats, struct error *error)
{
    jsStreamInfo *info = NULL;
    int status;

    if (ask(nats, &info, error) < 0)
        return -1;
    nats->keeps_unwanted = true;
    if (info == NULL)
        return nats->base.options->create ? add(nats, NULL, error)
                                          : fail_missing(nats, NULL, error);
    status = check_config(nats, info->Config, error);
    nats->keeps_unwanted = info->Config == NULL || info->Config->Retention != js_InterestPolicy ||
                           info->Config->Replicas > 1;
    jsStreamInfo_Destroy(info);
    return status;
}

static bool takes(const jsStreamConfig *config, const char *destination)
{
    for (int i = 0; i < config->SubjectsLen; i++) {
        struct match match;
        char why[64];
        bool matches;

        if (match_parse(&match, config->Subjects[i], why, sizeof why) < 0)
            continue;
        matches = match_topic(&match, text_of(destination));
        match_free(&match);
        if (matches)
            return true;
    }
    return false;
}

static int fail_subject(struct nats *nats, const char *destination, struct error *error)
{
    char why[SUBJECTS_BYTES_MAX];

    (void)snprintf(why, sizeof why, "does not take subject \"%s\"", destination);
    fail(nats, error, ERROR_PERMANENT, why);
    return error_hint(error, "nats stream edit %s --subjects '...,%s'", nats->base.options->stream,
                      destination);
}

static void add_warning(char *warning, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_warning(char *warning, size_t size, const char *format, ...)
{
    size_t len = strlen(warning);
    va_list args;

    if (len > 0 && len + 3 < size) {
        memcpy(warning + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    (void)vsnprintf(warning + len, size - len, format, args);
    va_end(args);
}

static void warn(const struct nats *nats, const jsStreamConfig *config, char *warning, size_t size)
{
    int64_t window_ms = config->Duplicates / NS_PER_MS;
    int64_t wanted_ms = 2 * nats->base.options->publish_timeout_ms;

    if (config->Storage == js_MemoryStorage)
        add_warning(warning, size, "memory storage: a restart of the server loses the stream");
    if (config->Replicas < 2)
        add_warning(warning, size, "1 replica: messages are lost with one disk");
    if (window_ms < wanted_ms)
        add_warning(warning, size,
                    "duplicate window of %lld ms: a repeat may come %lld ms later and is then "
                    "stored twice",
                    (long long)window_ms, (long long)wanted_ms);
    if (config->AllowRollup)
        add_warning(warning, size, "allow_rollup: a message header can purge the stream");
    if (config->Retention != js_LimitsPolicy)
        add_warning(warning, size,
                    "retention is not \"limits\": a restart forgets the ids of consumed messages");
}

static int check_destination(struct nats *nats, const char *destination, struct error *error)
{
    const char *broken = rules_nats_subject(text_of(destination));

    if (broken == NULL && !sink_allows(nats->base.options, text_of(destination)))
        broken = "the sink's allow list does not take this subject";
    if (broken == NULL)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: subject \"%s\": %s",
                     nats->base.options->name, destination, broken);
}

int nats_inspect(struct broker *broker, const char *destination, char *warning, size_t warning_size,
                 struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    jsStreamInfo *info = NULL;
    int status;

    if (check_destination(nats, destination, error) < 0 || nats_connect(nats, error) < 0 ||
        ask(nats, &info, error) < 0)
        return -1;
    if (info == NULL)
        return fail_missing(nats, destination, error);
    status = check_config(nats, info->Config, error);
    if (status == 0 && !takes(info->Config, destination))
        status = fail_subject(nats, destination, error);
    if (status == 0)
        warn(nats, info->Config, warning, warning_size);
    jsStreamInfo_Destroy(info);
    return status;
}

int nats_make(struct broker *broker, const char *destination, struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    jsStreamInfo *info = NULL;
    int status = 0;

    if (!sink_pattern(destination) && check_destination(nats, destination, error) < 0)
        return -1;
    if (nats_connect(nats, error) < 0 || ask(nats, &info, error) < 0)
        return -1;
    if (info == NULL)
        return add(nats, destination, error);
    if (!sink_pattern(destination) && !takes(info->Config, destination))
        status = fail_subject(nats, destination, error);
    jsStreamInfo_Destroy(info);
    return status;
}
