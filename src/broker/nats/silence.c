/*
 * Notices that no acknowledgement will come, before publish_timeout is over.
 *
 * A server that hangs keeps its connections open, and what was sent to a leader that has failed is
 * answered by nobody, although the next leader is at work. So while acknowledgements are awaited
 * and none arrives for LOOK_FIRST_MS, the stream's leader is asked for the stream's information, as
 * it is when a connection is made:
 *   - the stream has no leader: the batch is given up at once;
 *   - another server leads it, or the leader has lost the other replicas: the batch is given up
 *     when a later question finds nothing acknowledged since, because the leader that was known may
 *     have gone hours ago;
 *   - the leader answers: it is slow, and the batch is awaited on;
 *   - nothing answers for half of publish_timeout, or SILENCE_MS_MIN: the batch is given up.
 *
 * A slow line is no silence: as long as the server's machine takes bytes, the batch is awaited. An
 * acknowledgement ends every doubt.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"

#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define BUFFERED_BYTES_MAX (64 * 1024)
#define LOOK_FIRST_MS 2000
#define LOOK_MS 1000
#define SILENCE_MS_MIN 5000
#define REPLICA_LOST_NS INT64_C(4000000000)

static const char no_leader[] = "the stream has no leader";
static const char other_leader[] = "another server leads the stream now";

void nats_silence_begin(struct nats *nats)
{
    nats->questions = 0;
    nats->unsent_bytes = 0;
    nats->given_up = NULL;
    nats->doubt = NULL;
    nats->looked_at_ms = 0;
    nats_new_token(nats, nats->question_token);
    nats_heard(nats);
}

static int64_t look_at_ms(const struct nats *nats)
{
    int64_t first_ms = nats->heard_at_ms + (nats->doubt != NULL ? LOOK_MS : LOOK_FIRST_MS);
    int64_t next_ms = nats->looked_at_ms + LOOK_MS;

    return next_ms > first_ms ? next_ms : first_ms;
}

int64_t nats_silence_until(const struct nats *nats, int64_t deadline_ms)
{
    int64_t next_ms = nats->given_up != NULL ? clock_now_ms() : look_at_ms(nats);

    return next_ms < deadline_ms ? next_ms : deadline_ms;
}

/* Nobody knows what the library's threads have written, so a slow line is awaited. */
static int64_t silence_ms_max(const struct nats *nats)
{
    int64_t half_ms = nats->base.options->publish_timeout_ms / 2;

    if (nats->threaded)
        return nats->base.options->publish_timeout_ms;
    return half_ms > SILENCE_MS_MIN ? half_ms : SILENCE_MS_MIN;
}

/* Whether the server's machine has taken bytes since the last look. */
static bool takes_bytes(struct nats *nats)
{
    int before = nats->unsent_bytes;

    if (nats->io->socket < 0 || ioctl(nats->io->socket, SIOCOUTQ, &nats->unsent_bytes) != 0)
        return false;
    return nats->unsent_bytes < before;
}

bool nats_is_silent(struct nats *nats, int64_t deadline_ms)
{
    char subject[NATS_TEXT_BYTES];

    if (nats->given_up != NULL || clock_left_ms(look_at_ms(nats)) > 0)
        return nats->given_up != NULL;
    if (takes_bytes(nats))
        nats_heard(nats);
    if (clock_left_ms(nats->heard_at_ms + silence_ms_max(nats)) == 0) {
        nats->given_up = "nothing answers";
        return true;
    }
    nats->looked_at_ms = clock_now_ms();
    (void)snprintf(subject, sizeof subject, "%sSTREAM.INFO.%s", nats->api,
                   nats->base.options->stream);
    if (nats_question(nats, subject, "", nats->question_token) == NATS_OK)
        nats->questions++;
    nats_write_some(nats, deadline_ms);
    return false;
}

void nats_flush_batch(struct nats *nats, int64_t deadline_ms)
{
    do
        nats_flush(nats, nats_silence_until(nats, deadline_ms));
    while (nats->io->wants_write && !nats_lost(nats) && clock_left_ms(deadline_ms) > 0 &&
           !nats_is_silent(nats, deadline_ms));
}

bool nats_flush_if_large(struct nats *nats, int64_t deadline_ms)
{
    if (nats->threaded)
        return clock_left_ms(deadline_ms) > 0;
    if (natsConnection_Buffered(nats->connection) < BUFFERED_BYTES_MAX)
        return true;
    nats_flush_batch(nats, deadline_ms);
    return !nats->io->wants_write;
}

/* The servers of a cluster answer for a stream whose leader they miss, and a leader goes on for 10
 * s and more after it has lost its followers, which it hears each second. */
const char *nats_leader_problem(const json_t *info)
{
    const json_t *cluster = json_object_get(info, "cluster");
    const json_t *replicas = json_object_get(cluster, "replicas");
    size_t count = json_array_size(replicas);
    size_t lost = 0;

    if (!json_is_object(cluster))
        return NULL;
    if (json_string_length(json_object_get(cluster, "leader")) == 0)
        return no_leader;
    for (size_t i = 0; i < count; i++)
        lost += json_integer_value(json_object_get(json_array_get(replicas, i), "active")) >
                REPLICA_LOST_NS;
    return 2 * lost > count ? "the stream's leader has lost the other replicas" : NULL;
}

void nats_note_leader(struct nats *nats, const json_t *info)
{
    const char *leader =
        json_string_value(json_object_get(json_object_get(info, "cluster"), "leader"));

    (void)snprintf(nats->leader, sizeof nats->leader, "%s", leader != NULL ? leader : "");
}

/* A question that was asked before the doubt began says nothing new. */
static void note_problem(struct nats *nats, const char *problem, uint64_t number)
{
    if (problem == no_leader ||
        (problem != NULL && problem == nats->doubt && number >= nats->doubted_from))
        nats->given_up = problem;
    if (problem != nats->doubt)
        nats->doubted_from = nats->next_request;
    nats->doubt = problem;
}

bool nats_take_question(struct nats *nats, natsMsg *answer, uint64_t number, const char *token)
{
    char leader[sizeof nats->leader];
    const char *problem;
    json_t *info;

    if (number < nats->first_request + (uint64_t)nats->count || number >= nats->next_request ||
        nats->questions == 0 || memcmp(token, nats->question_token, NATS_TOKEN_BYTES) != 0)
        return false;
    nats->questions--;
    info = json_loadb(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), 0, NULL);
    memcpy(leader, nats->leader, sizeof leader);
    if (json_is_object(json_object_get(info, "config")))
        nats_note_leader(nats, info);
    problem =
        json_is_object(json_object_get(info, "error")) ? no_leader : nats_leader_problem(info);
    if (problem == NULL &&
        ((leader[0] != '\0' && strcmp(leader, nats->leader) != 0) || nats->doubt == other_leader))
        problem = other_leader;
    json_decref(info);
    note_problem(nats, problem, number);
    return true;
}

void nats_note_stored(struct nats *nats)
{
    nats->given_up = NULL;
    nats->doubt = NULL;
}
