/*
 * The stream: whether it exists, acknowledges, and keeps what it acknowledges; adding it.
 *
 * A setting that prevents acknowledgements is an error; one that weakens the guarantee, a warning.
 * An existing stream is never altered: the message names the command with which its owner can do
 * it.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "route/rules.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 640
#define SUBJECTS_BYTES_MAX 512
#define NS_PER_MS 1000000
#define API_TIMEOUT_MS 1000
#define SUBJECTS_VALID_MS 1000
#define STREAM_VALID_MS 60000 /* so an idle relay learns of a stream that was lost or made anew */
/* The servers of a cluster that has just started may not know its streams yet. */
#define MISSING_MS 15000

const char nats_in_batches[] = "in atomic batches";
const char nats_not_atomic[] = "one by one (the stream does not have allow_atomic)";

static int fail(struct nats *nats, struct error *error, enum error_kind kind, const char *why)
{
    char text[TEXT_BYTES_MAX];

    (void)snprintf(text, sizeof text, "stream \"%s\": %s", nats->base.options->stream, why);
    return nats_fail(nats, error, kind, text);
}

struct seen_place nats_place(const struct nats *nats)
{
    return (struct seen_place){nats->base.options->name, text_of(nats->base.options->stream),
                               SEEN_WHOLE};
}

static void lose(const struct nats *nats, const char *text)
{
    const struct seen_place place = nats_place(nats);

    seen_lost(nats->base.seen, &place, text);
}

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

const json_t *nats_setting(const json_t *info, const char *name)
{
    return json_object_get(json_object_get(info, "config"), name);
}

const char *nats_setting_text(const json_t *info, const char *name)
{
    return text_in(json_object_get(info, "config"), name);
}

/* Collects the subjects that a new stream gets: those of the allow list, else `destination`.
 * Regular expressions are left out, because they name no subjects. Returns the number of
 * subjects. */
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

/* Formats subjects like "a.>,b". */
static void format_subjects(const char *const *subjects, int count, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < count && len < size; i++) {
        int added = snprintf(out + len, size - len, "%s%s", i > 0 ? "," : "", subjects[i]);

        len += added > 0 ? (size_t)added : 0;
    }
}

/* What to try first where the server's JetStream has a domain, as a leaf node's: the stream may be
 * in another. Its own stream of that name would be a second one. "": the server has no domain, or
 * the configuration names the stream's. */
static void format_domain(struct nats *nats, char *out, size_t size)
{
    struct error ignored;
    const char *domain = NULL;
    json_t *reply = NULL;

    out[0] = '\0';
    if (nats->base.options->domain == NULL &&
        nats_call_api(nats, "INFO", "", &reply, &ignored) == 0)
        domain = json_string_value(json_object_get(reply, "domain"));
    if (domain != NULL && domain[0] != '\0')
        (void)snprintf(out, size,
                       "if the stream is in another JetStream domain than the server's, \"%.64s\":"
                       " domain = \"NAME\" in [sink.%.64s]; if not: ",
                       domain, nats->base.options->name);
    json_decref(reply);
}

/* When no subject is known, the hint shows an example. It is not '>', because newer servers only
 * allow that for a stream with no_ack. */
static int fail_missing(struct nats *nats, const char *destination, struct error *error)
{
    const char *stream = nats->base.options->stream;
    const char *known[SINK_LIST_MAX];
    char subjects[SUBJECTS_BYTES_MAX];
    char why[TEXT_BYTES_MAX] = "there is no such stream";
    char domain[NATS_TEXT_BYTES];
    int count = subjects_of(nats, destination, known);

    format_subjects(known, count, subjects, sizeof subjects);
    if (count == 0) {
        (void)snprintf(subjects, sizeof subjects, "%s.>", stream);
        (void)snprintf(why, sizeof why,
                       "there is no such stream; allow names no subjects, so write your own in "
                       "place of '%s' below",
                       subjects);
    }
    format_domain(nats, domain, sizeof domain);
    fail(nats, error, ERROR_PERMANENT, why);
    return error_hint(
        error,
        "%snats stream add %s --subjects '%s' --storage file --dupe-window 2m --defaults; or write"
        " create = true%s in [sink.%s]",
        domain, stream, subjects, count == 0 ? " and allow" : "", nats->base.options->name);
}

static int fail_without_jetstream(struct nats *nats, struct error *error)
{
    const char *domain = nats->base.options->domain;
    char why[NATS_TEXT_BYTES];

    if (domain != NULL) {
        (void)snprintf(why, sizeof why, "no server of the JetStream domain \"%.64s\" answers",
                       domain);
        fail(nats, error, ERROR_TRANSIENT, why);
        return error_hint(error,
                          "correct domain in [sink.%s], or look at the leaf node's connection to"
                          " that domain",
                          nats->base.options->name);
    }
    fail(nats, error, ERROR_PERMANENT, "JetStream is not enabled on this server");
    return error_hint(error, "start the server with JetStream: nats-server -js, or jetstream {} in"
                             " its configuration file");
}

/* Keeps *reply if it is stream information; otherwise sets it to NULL. 0 also when there is no such
 * stream. A stream with the subject "*.>" or ">" also receives the request, and its acknowledgement
 * may arrive in place of the information. */
static int check_answer(struct nats *nats, json_t **reply, struct error *error)
{
    const json_t *refusal = json_object_get(*reply, "error");
    json_int_t code = json_integer_value(json_object_get(refusal, "err_code"));
    const char *problem = nats_leader_problem(*reply);
    int status = 0;

    if (problem == NULL && json_is_object(json_object_get(*reply, "config")))
        return 0;
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr)
        status = fail_without_jetstream(nats, error);
    else if (refusal != NULL && code != JSStreamNotFoundErr)
        status = fail(nats, error, ERROR_TRANSIENT, text_in(refusal, "description"));
    else if (problem != NULL)
        status = fail(nats, error, ERROR_TRANSIENT, problem);
    else if (refusal == NULL)
        status = fail(
            nats, error, ERROR_PERMANENT,
            "the reply is not stream information: does some stream have the subject $JS.API.>?");
    json_decref(*reply);
    *reply = NULL;
    return status;
}

static json_t *load_reply(const natsMsg *answer, size_t flags)
{
    return json_loadb(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), flags, NULL);
}

/* Of an account nats-server 2.10 says 2^64 - 1 for reserved bytes that nobody has set: then all
 * numbers are real. */
int nats_call_api(struct nats *nats, const char *what, const char *request, json_t **reply,
                  struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + API_TIMEOUT_MS;
    char subject[NATS_TEXT_BYTES];
    natsMsg *answer;
    natsStatus status;

    *reply = NULL;
    (void)snprintf(subject, sizeof subject, "%s%s", nats->api, what);
    if (deadline_ms > nats->ready_deadline_ms)
        deadline_ms = nats->ready_deadline_ms;
    status = nats_ask(nats, subject, request, deadline_ms, &answer);
    if (status == NATS_NO_RESPONDERS)
        return fail_without_jetstream(nats, error);
    if (status == NATS_TIMEOUT || status == NATS_NOT_PERMITTED) {
        fail(nats, error, ERROR_TRANSIENT, "no reply to the request for its configuration");
        return error_hint(
            error,
            "the user needs permission to publish to %sSTREAM.INFO.%s and to subscribe to "
            "%s.>",
            nats->api, nats->base.options->stream, nats_inbox_prefix(nats));
    }
    if (status != NATS_OK)
        return fail(nats, error, ERROR_TRANSIENT, natsStatus_GetText(status));
    *reply = load_reply(answer, 0);
    if (*reply == NULL && strcmp(what, "INFO") == 0)
        *reply = load_reply(answer, JSON_DECODE_INT_AS_REAL);
    natsMsg_Destroy(answer);
    return 0;
}

/* 0 with *info set to the stream's information, which the caller releases, or to NULL when there is
 * no such stream. */
static int request_info(struct nats *nats, json_t **info, struct error *error)
{
    char what[NATS_TEXT_BYTES];

    (void)snprintf(what, sizeof what, "STREAM.INFO.%s", nats->base.options->stream);
    if (nats_call_api(nats, what, "", info, error) < 0)
        return -1;
    return check_answer(nats, info, error);
}

bool nats_stream_has_leader(struct nats *nats, int64_t deadline_ms)
{
    struct error ignored;
    json_t *info;

    nats->ready_deadline_ms = deadline_ms;
    if (request_info(nats, &info, &ignored) < 0)
        return false;
    json_decref(info);
    return true;
}

/* The request that adds the stream; settings left out have the server's defaults. NULL: out of
 * memory. */
static char *stream_config(struct nats *nats, const char *const *subjects, int count)
{
    json_t *list = json_array();
    json_t *config;
    char *text;

    for (int i = 0; i < count; i++)
        (void)json_array_append_new(list, json_string(subjects[i]));
    config =
        json_pack("{s:s, s:o, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b}", "name",
                  nats->base.options->stream, "subjects", list, "storage", "file", "retention",
                  "limits", "num_replicas", 1, "max_consumers", -1, "max_msgs", -1, "max_bytes", -1,
                  "max_msg_size", -1, "allow_atomic", nats->base.options->atomic_batches);
    text = config != NULL ? json_dumps(config, JSON_COMPACT) : NULL;
    json_decref(config);
    return text;
}

/* Finds a stream that has a subject in common with `subject`. False: there is none, or the server
 * does not say. */
static bool find_holder(struct nats *nats, const char *subject, char *holder, size_t size)
{
    json_t *question = json_pack("{s:s}", "subject", subject);
    char *request = question != NULL ? json_dumps(question, JSON_COMPACT) : NULL;
    const char *name = NULL;
    json_t *reply = NULL;
    struct error ignored;

    if (request != NULL && nats_call_api(nats, "STREAM.NAMES", request, &reply, &ignored) == 0)
        name = json_string_value(json_array_get(json_object_get(reply, "streams"), 0));
    if (name != NULL)
        (void)snprintf(holder, size, "%s", name);
    json_decref(reply);
    json_decref(question);
    free(request);
    return name != NULL;
}

/* The server allows a subject in one stream only. -1: another stream has one of the subjects that
 * the missing stream would have. */
static int check_overlap(struct nats *nats, const char *destination, struct error *error)
{
    const char *subjects[SINK_LIST_MAX];
    int count = subjects_of(nats, destination, subjects);
    char holder[NATS_TEXT_BYTES];
    char why[SUBJECTS_BYTES_MAX];

    for (int i = 0; i < count; i++) {
        if (!find_holder(nats, subjects[i], holder, sizeof holder))
            continue;
        (void)snprintf(why, sizeof why,
                       "it cannot be created: subject \"%.160s\" already belongs to stream \"%s\"",
                       subjects[i], holder);
        fail(nats, error, ERROR_PERMANENT, why);
        return error_hint(error, "stream = \"%s\" in [sink.%s], or choose other subjects in allow",
                          holder, nats->base.options->name);
    }
    return 0;
}

/* The stream may exist already because another relay has just added it. */
static int check_added(struct nats *nats, const char *destination, const json_t *reply,
                       struct error *error)
{
    const json_t *refusal = json_object_get(reply, "error");
    json_int_t code = json_integer_value(json_object_get(refusal, "err_code"));

    if (refusal == NULL)
        lose(nats, "the stream did not exist any more, and this relay has made it");
    if (refusal == NULL || code == JSStreamNameExistErr)
        return 0;
    if (code == JSStreamSubjectOverlapErr && check_overlap(nats, destination, error) < 0)
        return -1;
    return fail(nats, error, code != 0 ? ERROR_PERMANENT : ERROR_TRANSIENT,
                text_in(refusal, "description"));
}

static int add(struct nats *nats, const char *destination, struct error *error)
{
    const char *subjects[SINK_LIST_MAX];
    int count = subjects_of(nats, destination, subjects);
    char what[NATS_TEXT_BYTES];
    json_t *reply;
    char *config;
    int status;

    if (count == 0)
        return fail(nats, error, ERROR_PERMANENT,
                    "cannot be added without subjects: list them in allow");
    config = stream_config(nats, subjects, count);
    if (config == NULL)
        return error_no_memory(error);
    (void)snprintf(what, sizeof what, "STREAM.CREATE.%s", nats->base.options->stream);
    status = nats_call_api(nats, what, config, &reply, error);
    free(config);
    if (status == 0)
        status = check_added(nats, destination, reply, error);
    json_decref(reply);
    return status;
}

int64_t nats_duplicate_window_ms(const json_t *info)
{
    return json_integer_value(nats_setting(info, "duplicate_window")) / NS_PER_MS;
}

/* The version of the server that leads the stream; 0: it does not say, as before 2.11. */
static long version_of(const json_t *info)
{
    const char *text = text_in(nats_setting(info, "metadata"), "_nats.ver");
    int major = 0, minor = 0, patch = 0;

    (void)sscanf(text, "%3d.%3d.%3d", &major, &minor, &patch);
    return major * 1000000L + minor * 1000L + patch;
}

/* The first servers with atomic batches, before 2.12.1, could lose one at a change of leader. */
const char *nats_key_order(const struct nats *nats, const json_t *info)
{
    if (!nats->base.options->keep_order)
        return NULL;
    if (!nats->base.options->atomic_batches)
        return "one by one (atomic_batches = false)";
    if (version_of(info) < 2012001)
        return "one by one (nats-server is older than 2.12.1)";
    return json_is_true(nats_setting(info, "allow_atomic")) ? nats_in_batches : nats_not_atomic;
}

bool nats_keeps_nothing(const json_t *info)
{
    const json_t *state = json_object_get(info, "state");

    return strcmp(nats_setting_text(info, "retention"), "interest") == 0 &&
           json_integer_value(json_object_get(state, "consumer_count")) == 0;
}

static int check_config(struct nats *nats, const json_t *info, struct error *error)
{
    if (!json_is_true(nats_setting(info, "no_ack")))
        return 0;
    fail(nats, error, ERROR_PERMANENT, "no_ack is set, so it never acknowledges a message");
    return error_hint(error, "nats stream edit %s --ack", nats->base.options->stream);
}

void nats_forget_subjects(struct nats *nats)
{
    for (int i = 0; i < nats->subject_count; i++)
        match_free(&nats->subjects[i]);
    free(nats->subjects);
    nats->subjects = NULL;
    nats->subject_count = 0;
}

bool nats_stream_takes(const struct nats *nats, struct text destination)
{
    return match_any(nats->subjects, nats->subject_count, destination);
}

/* What messages are compared with. A subject that cannot be parsed here is treated as ">". */
static int keep_subjects(struct nats *nats, const json_t *info, struct error *error)
{
    const json_t *subjects = nats_setting(info, "subjects");
    size_t count = json_array_size(subjects);
    char why[64];

    nats->stream_bytes_max = json_integer_value(nats_setting(info, "max_msg_size"));
    nats_forget_subjects(nats);
    nats->subjects_read_at_ms = clock_now_ms();
    nats->subjects_are_stale = false;
    nats->subjects = calloc(count + 1, sizeof *nats->subjects);
    if (nats->subjects == NULL)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const char *subject = json_string_value(json_array_get(subjects, i));
        struct match *match = &nats->subjects[nats->subject_count];

        if ((subject == NULL || match_parse(match, subject, why, sizeof why) < 0) &&
            match_parse(match, ">", why, sizeof why) < 0)
            return error_no_memory(error);
        nats->subject_count++;
    }
    return 0;
}

/* Whether the stream would store the acknowledgements that the relay receives. With the default
 * prefix this is not checked, so that a stream with the subject ">" works without inbox_prefix. */
static bool takes_inbox(const struct nats *nats)
{
    char reply[NATS_REPLY_BYTES];

    nats_reply_subject(nats, 0, nats->request_token, reply);
    return nats->base.options->inbox_prefix != NULL &&
           strcmp(nats->base.options->inbox_prefix, NATS_INBOX_PREFIX) != 0 &&
           nats_stream_takes(nats, text_of(reply));
}

/* The stream is read again until it has a consumer. */
static void warn_of_loss(struct nats *nats)
{
    static struct log_limit limit = {.lines = "streams that keep nothing"};

    nats->subjects_are_stale = true;
    log_limit_line(&limit, LOG_WARN, clock_now_ms(), "sink %s, stream \"%s\": " NATS_KEEPS_NOTHING,
                   nats->base.options->name, nats->base.options->stream);
}

static void note_missing(struct nats *nats)
{
    int64_t now_ms = clock_now_ms();

    if (nats->missing_since_ms == 0)
        nats->missing_since_ms = now_ms;
    else if (now_ms - nats->missing_since_ms >= MISSING_MS)
        lose(nats, "the stream does not exist any more");
}

/* A purge leaves the last number where it is. `floor` was read before the server was asked. */
static void compare_with_seen(const struct nats *nats, const json_t *info, int64_t floor)
{
    const struct seen_place place = nats_place(nats);
    const char *created = text_in(info, "created");
    const json_t *last = json_object_get(json_object_get(info, "state"), "last_seq");

    if (created[0] != '\0')
        seen_identify(nats->base.seen, &place, created);
    if (json_is_integer(last))
        (void)seen_end(nats->base.seen, &place, floor, json_integer_value(last));
}

int nats_check_stream(struct nats *nats, struct error *error)
{
    const struct seen_place place = nats_place(nats);
    int64_t floor = seen_floor(nats->base.seen, &place);
    json_t *info;
    int status;

    if (request_info(nats, &info, error) < 0)
        return -1;
    if (info == NULL && nats->base.options->create &&
        (add(nats, NULL, error) < 0 || request_info(nats, &info, error) < 0))
        return -1;
    if (info == NULL) {
        note_missing(nats);
        return fail_missing(nats, NULL, error);
    }
    nats->missing_since_ms = 0;
    compare_with_seen(nats, info, floor);
    status = check_config(nats, info, error);
    if (status == 0)
        status = keep_subjects(nats, info, error);
    if (status == 0 && takes_inbox(nats))
        status = fail(nats, error, ERROR_PERMANENT,
                      "it would store the relay's own acknowledgements: choose an inbox_prefix "
                      "that none of its subjects matches");
    nats_note_leader(nats, info);
    nats->base.keeps_nothing = nats_keeps_nothing(info);
    if (nats->base.keeps_nothing)
        warn_of_loss(nats);
    nats->base.recognise_ms = nats_duplicate_window_ms(info);
    nats->base.key_order = nats_key_order(nats, info);
    nats->takes_batches = nats->base.key_order == nats_in_batches;
    nats->unnumbered_is_pending = strcmp(nats_setting_text(info, "retention"), "interest") != 0 ||
                                  json_integer_value(nats_setting(info, "num_replicas")) > 1;
    json_decref(info);
    return status;
}

bool nats_subjects_need_refresh(const struct nats *nats)
{
    int64_t valid_ms = nats->subjects_are_stale ? SUBJECTS_VALID_MS : STREAM_VALID_MS;

    return clock_left_ms(nats->subjects_read_at_ms + valid_ms) == 0;
}

static int check_subject(struct nats *nats, const json_t *info, const char *destination,
                         struct error *error)
{
    char why[SUBJECTS_BYTES_MAX];

    if (keep_subjects(nats, info, error) < 0)
        return -1;
    if (nats_stream_takes(nats, text_of(destination)))
        return 0;
    (void)snprintf(why, sizeof why, "has no subject that matches \"%s\"", destination);
    fail(nats, error, ERROR_PERMANENT, why);
    return error_hint(error, "nats stream edit %s --subjects '...,%s'", nats->base.options->stream,
                      destination);
}

static int check_destination(const struct nats *nats, const char *destination, struct error *error)
{
    return sink_check_destination(nats->base.options, "subject",
                                  rules_nats_subject(text_of(destination)), destination, error);
}

int nats_inspect(struct nats *nats, const char *destination, json_t **info,
                 struct findings *findings, struct error *error)
{
    *info = NULL;
    if ((destination != NULL && check_destination(nats, destination, error) < 0) ||
        nats_connect(nats, error) < 0 || request_info(nats, info, error) < 0)
        return -1;
    if (*info == NULL && !nats->base.options->create)
        return fail_missing(nats, destination, error);
    if (*info == NULL) {
        if (check_overlap(nats, destination, error) < 0)
            return -1;
        if (destination == NULL)
            (void)findings_add(findings, FINDING_NOTE,
                               "sink %s, stream \"%s\": it is missing; init or run will create it",
                               nats->base.options->name, nats->base.options->stream);
        return 0;
    }
    if (check_config(nats, *info, error) < 0)
        return -1;
    return destination != NULL ? check_subject(nats, *info, destination, error)
                               : keep_subjects(nats, *info, error);
}

int nats_make(struct broker *broker, const char *destination, struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    json_t *info;
    int status = 0;

    if (!sink_pattern(destination) && check_destination(nats, destination, error) < 0)
        return -1;
    if (nats_connect(nats, error) < 0 || request_info(nats, &info, error) < 0)
        return -1;
    if (info == NULL)
        return add(nats, destination, error);
    if (!sink_pattern(destination))
        status = check_subject(nats, info, destination, error);
    json_decref(info);
    return status;
}
