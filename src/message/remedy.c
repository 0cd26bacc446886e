#include "message/remedy.h"

#include "message/batch.h"

#include <stdio.h>
#include <string.h>

#define ID_BYTES_MAX 64
#define TYPED "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._:-"
#define ROOM                                                                                       \
    "make room: let consumers acknowledge, or nats stream purge; or raise the limit: nats stream"  \
    " edit STREAM "

#define CORRECT "correct the row in {kept}: its "
#define RETRY "; then outbox-relay dead retry {id}"
#define TOPIC CORRECT "topic, or the [[route]]'s" RETRY

/* Part of a reason, and what mends it, with {kept} for the table where the row is to be corrected
 * and {id} for the row's id. The first that occurs counts, so the more precise stand first. */
static const struct {
    const char *part;
    const char *remedy;
} remedies[] = {
    /* ---- rows that are kept as a whole (outbox/sql/kept_problem.sql) ---- */
    {"the table has changed since this row was kept",
     "run this UPDATE, with what the column is to have in place of VALUE" RETRY},
    {"its row is locked by another session",
     "let that transaction end: SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY 2"},
    {"is kept as a whole, and no value",
     "write one value as an expression, as topic = \"(topic)\", and start the relay anew" RETRY},
    /* ---- NATS: the relay's own words (nats/publish.c, nats/policy.c, nats/verdicts.c) ---- */
    {"\" is a mirror", "publish to the stream that it copies: its name as stream in the [sink], or"
                       " recreate this one with subjects and without --mirror"},
    {"\" has no subjects of its own", "give the stream subjects: nats stream edit STREAM --subjects"
                                      " '...', or name the stream that it copies in the [sink]"},
    {"\" has no subject that matches", "have the stream take this subject: nats stream edit STREAM"
                                       " --subjects '...'; or correct the route's topic"},
    {"no stream has a subject that matches",
     "add the stream again, or have it take this subject: outbox-relay check says which"},
    {"not permitted to publish to", "grant the relay's user the right to publish to this subject"
                                    " (permissions, publish, allow)"},
    {"expected stream does not match", "name the stream that has this subject in the [sink], or"
                                       " move the subject to the sink's stream"},
    {"acknowledged by stream", "name this stream in the [sink], or take the subject from it: a"
                               " subject should belong to one stream"},
    {"larger than max_msg_size",
     "make the payload smaller, or nats stream edit STREAM --max-msg-size ..." RETRY},
    {"larger than max_payload",
     "make the payload smaller, or raise max_payload of the server" RETRY},
    {"collides with another event", CORRECT "event_id must be its own" RETRY},
    {"inbox_prefix", "choose another topic, or another inbox_prefix in the [sink]"},
    /* ---- NATS: codes of the server ---- */
    {"maximum messages per subject exceeded (10077)", ROOM "--max-msgs-per-subject ..."},
    {"maximum messages exceeded (10077)", ROOM "--max-msgs ..."},
    {"maximum bytes exceeded (10077)", ROOM "--max-bytes ..."},
    {"(10077)", "the server could not store the message: look at its log and its disk"},
    {"(10109)", "a sealed stream takes no messages ever again: add another stream, and move the"
                " subjects to it"},
    {"(10169)", "the stream takes only counters (allow_msg_counter): name another in the [sink]"},
    {"(10002)", "raise the account's limits of JetStream, or delete messages"},
    {"(10120)", "give the account limits of JetStream for this number of replicas"},
    {"(10028)", "raise max_mem of the server's jetstream {}, or delete messages"},
    {"(10047)", "raise max_file of the server's jetstream {}, free its disk, or delete messages"},
    {"(10023)", "the server lacks memory or disk for JetStream: raise max_mem or max_file of its"
                " jetstream {}, or delete messages"},
    {"(10167)", "the server is busy with the stream: the rows are sent as soon as it is not"},
    {"(10158)", "wait: the first copy is being stored"},
    {"(10035)", "enable JetStream for the account of the relay's user"},
    {"(10039)", "enable JetStream for the account of the relay's user"},
    {"(10076)", "start the server with JetStream: nats-server -js"},
    {"(10059)", "add the stream again: outbox-relay check prints the command"},
    {"(10118)", "bring the stream's servers back: nats stream info STREAM"},
    {"(10194)", "the server is too old for the stream's settings: upgrade it"},
    {"(10063)", "the stream's replicas disagree: nats stream info STREAM, and the servers' logs"},
    {"(10004)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10006)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10007)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10008)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10009)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10010)", "bring the cluster's servers back: nats server report jetstream"},
    {"(10041)", "bring the cluster's servers back: nats server report jetstream"},
    /* ---- Kafka: the relay's own words, then librdkafka's ---- */
    {"is compacted and takes no message without a key",
     "give the row a key, or the [[route]] a key; or kafka-configs.sh --alter --topic TOPIC"
     " --add-config cleanup.policy=delete" RETRY},
    {"larger than max.message.bytes of the topic",
     "make the payload smaller, or kafka-configs.sh --alter --topic TOPIC --add-config"
     " max.message.bytes=..." RETRY},
    {"larger than segment.bytes of the topic",
     "make the payload smaller, or kafka-configs.sh --alter --topic TOPIC --add-config"
     " segment.bytes=..." RETRY},
    {"message.max.bytes", "make the payload smaller, or raise message.max.bytes in the [sink]'s"
                          " properties, and max.message.bytes of the topic" RETRY},
    {"Message size too large",
     "make the payload smaller, or raise max.message.bytes of the topic" RETRY},
    {"has no leader", "bring the broker of the partition back: kafka-topics.sh --describe"
                      " --unavailable-partitions"},
    {"acknowledges nothing, and the relay cannot reach",
     "in that broker's advertised.listeners write an address that can be reached from here, or make"
     " this one known to this machine; outbox-relay check tries them all"},
    {"acknowledges nothing", "bring its replicas back: kafka-topics.sh --describe"
                             " --under-min-isr-partitions; the logs of its brokers say more"},
    {"unknown topic",
     "create the topic, or have the relay do it by create = true in the [sink]; where that is"
     " set, outbox-relay check says what keeps it from doing so"},
    {"Topic authorization failed", "kafka-acls.sh --add --allow-principal User:RELAY --operation"
                                   " Write --operation Describe --topic TOPIC"},
    {"Policy violation", "the cluster's owner forbids this by a policy of the broker's: its log"
                         " says which"},
    {"Invalid timestamp", "set the clock of the relay's host, or raise"
                          " message.timestamp.before.max.ms and after.max.ms of the topic"},
    {"Unsupported compression type", "choose another compression.type in the [sink]'s properties"},
    {"message format version", "raise message.format.version of the topic: its brokers know no"
                               " headers yet"},
    {"Required feature not supported", "choose another compression.type, or upgrade the brokers"},
    /* ---- the row itself, whatever the broker (route/, outbox/, sinks) ---- */
    {"no [[route]] matches",
     "add a [[route]] for this topic and start the relay anew; or " CORRECT "topic" RETRY},
    {"uses a column that is NULL", "fill the column in {kept}, or have the [[route]] do"
                                   " without it" RETRY},
    {"allow list does not permit", "add it to allow of the [sink], or have a [[route]] lead"
                                   " elsewhere, and start the relay anew"},
    {"the topic is ", TOPIC},
    {"topic name", TOPIC},
    {"internal topic", TOPIC},
    {"topic longer than", TOPIC},
    {"empty topic", TOPIC},
    {"invalid subject", TOPIC},
    {"empty subject", TOPIC},
    {"subject longer than", TOPIC},
    {"names that begin with \"$\"", TOPIC},
    {"key, type and headers take", CORRECT "key, type or headers must be shorter" RETRY},
    {"CloudEvents: the row has no type",
     "fill the column type, or give a type in [cloudevents]" RETRY},
    {"CloudEvents: the key", CORRECT "key, or give a subject in [cloudevents.attributes]" RETRY},
    {"reserved header: the relay", "give the relay's own another name or none in"
                                   " [sink.NAME.headers]; or " CORRECT "headers" RETRY},
    {"header", CORRECT "headers" RETRY},
    {"is too large to fetch", "make the payload smaller" RETRY},
    {"event id is NULL", CORRECT "event_id must not be NULL" RETRY},
    {"event_id is empty", CORRECT "event_id must not be empty" RETRY},
    {"PostgreSQL cannot compute the values of this row",
     "correct the expression in the configuration, or the row in {kept}{raw}" RETRY},
    {"PostgreSQL cannot read this row", CORRECT "value that cannot be read" RETRY},
};

static const char *find(const char *reason)
{
    const char *words = reason != NULL ? strstr(reason, BATCH_WORDS) : NULL;

    for (size_t i = 0; reason != NULL && i < sizeof remedies / sizeof *remedies; i++) {
        const char *part = strstr(reason, remedies[i].part);

        if (part != NULL && (words == NULL || part < words))
            return remedies[i].remedy;
    }
    return NULL;
}

/* An id that a shell or `dead` would take for something else is left for a person to write. */
static bool can_be_typed(struct text id)
{
    for (size_t i = 0; i < id.len; i++)
        if (strchr(TYPED, id.data[i]) == NULL || id.data[i] == '\0')
            return false;
    return id.data != NULL && id.len > 0 && id.len <= ID_BYTES_MAX && id.data[0] != '-';
}

/* A part of a name as the configuration has it, with `suffix`, as SQL has to have it. */
static size_t put_part(char *out, size_t size, const char *part, size_t len, const char *suffix)
{
    bool is_quoted = len > 1 && part[0] == '"';
    bool is_plain = strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789_") >= len;

    if (is_quoted)
        return (size_t)snprintf(out, size, "%.*s%s\"", (int)len - 1, part, suffix);
    return (size_t)snprintf(out, size, is_plain ? "%.*s%s" : "\"%.*s%s\"", (int)len, part, suffix);
}

static size_t put_table(char *out, size_t size, const char *table, const char *suffix)
{
    size_t dot = table[0] == '"' ? strcspn(table + 1, "\"") + 2 : strcspn(table, ".");
    size_t len = 0;

    if (dot < strlen(table) && table[dot] == '.') {
        len = put_part(out, size, table, dot, "");
        if (len + 1 < size)
            out[len++] = '.';
        table += dot + 1;
    }
    return len < size ? len + put_part(out + len, size - len, table, strlen(table), suffix) : len;
}

const char *remedy_write(char *out, size_t size, const char *reason,
                         const struct remedy_names *names)
{
    const char *at = find(reason);
    bool typed = can_be_typed(names->id);
    size_t len = 0;

    if (at == NULL)
        return NULL;
    while (*at != '\0' && len + 1 < size) {
        if (strncmp(at, "{kept}", 6) == 0) {
            len += put_table(out + len, size - len, names->outbox, names->stays ? "" : "_parked");
            at += 6;
        } else if (strncmp(at, "{raw}", 5) == 0) {
            len += (size_t)snprintf(out + len, size - len, "%s",
                                    names->stays ? "" : ": its column raw");
            at += 5;
        } else if (strncmp(at, "{id}", 4) == 0) {
            len += (size_t)snprintf(out + len, size - len, "%.*s", typed ? (int)names->id.len : 2,
                                    typed ? names->id.data : "ID");
            at += 4;
        } else {
            out[len++] = *at++;
        }
    }
    out[len < size ? len : size - 1] = '\0';
    return out;
}
