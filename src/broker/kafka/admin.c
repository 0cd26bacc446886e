/*
 * Topics, for `check`: whether a topic exists, and whether it is safe.
 *
 * Each request takes at most two seconds. A restricted user may not be allowed to read a topic's
 * configuration; the warning that depends on it is then left out, since publishing does not need
 * it.
 */

#include "broker/kafka/kafka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_settings(rd_kafka_event_t *event, struct kafka_topic_settings *settings)
{
    const rd_kafka_DescribeConfigs_result_t *result = rd_kafka_event_DescribeConfigs_result(event);
    const rd_kafka_ConfigResource_t **resources;
    const rd_kafka_ConfigEntry_t **entries;
    size_t count = 0;
    size_t entry_count = 0;

    if (result == NULL)
        return;
    resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
    entries = count == 1 ? rd_kafka_ConfigResource_configs(resources[0], &entry_count) : NULL;
    for (size_t i = 0; i < entry_count; i++) {
        const char *name = rd_kafka_ConfigEntry_name(entries[i]);
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);

        if (value != NULL && strcmp(name, "min.insync.replicas") == 0)
            settings->min_insync = (int)strtol(value, NULL, 10);
        if (value != NULL && strcmp(name, "unclean.leader.election.enable") == 0)
            settings->unclean_leader = strcmp(value, "true") == 0;
        if (value != NULL && strcmp(name, "cleanup.policy") == 0)
            settings->compacted = strstr(value, "compact") != NULL;
    }
}

struct kafka_topic_settings kafka_ask_settings(struct kafka *kafka, const char *name)
{
    struct kafka_topic_settings settings = {.min_insync = -1};
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
    rd_kafka_AdminOptions_t *options =
        kafka_admin_options(kafka, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, KAFKA_ASK_MS);
    rd_kafka_queue_t *answers = rd_kafka_queue_new(kafka->client);
    rd_kafka_event_t *event;

    rd_kafka_DescribeConfigs(kafka->client, &resource, 1, options, answers);
    event = rd_kafka_queue_poll(answers, KAFKA_ASK_MS);
    if (event != NULL)
        read_settings(event, &settings);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(answers);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(resource);
    return settings;
}

static int fewest_replicas(const struct rd_kafka_metadata_topic *topic)
{
    int fewest = topic->partitions[0].replica_cnt;

    for (int i = 1; i < topic->partition_cnt; i++)
        if (topic->partitions[i].replica_cnt < fewest)
            fewest = topic->partitions[i].replica_cnt;
    return fewest;
}

static struct finding *add_warning(const struct kafka *kafka, struct findings *findings,
                                   const char *topic, const char *text)
{
    return findings_add(findings, FINDING_WARNING, "sink %s, topic \"%s\": %s",
                        kafka->base.options->name, topic, text);
}

static void set_fix(const struct kafka *kafka, struct finding *finding, const char *topic,
                    const char *setting)
{
    finding_fix(finding,
                "kafka-configs.sh --bootstrap-server %s --alter --topic %s --add-config %s",
                kafka->base.options->brokers.items[0], topic, setting);
}

/* What the cluster may do to messages that it has acknowledged. */
static void warn(struct kafka *kafka, const struct rd_kafka_metadata_topic *topic,
                 struct findings *findings)
{
    const char *name = topic->topic;
    struct kafka_topic_settings settings = kafka_ask_settings(kafka, name);

    if (settings.compacted)
        set_fix(kafka,
                add_warning(kafka, findings, name,
                            "it is compacted: rows without a key are refused and become dead, and"
                            " of each key only the last message is sure to stay"),
                name, "cleanup.policy=delete");
    if (fewest_replicas(topic) < 2) {
        finding_fix(
            add_warning(kafka, findings, name,
                        "replication factor 1: losing one disk loses acknowledged messages"),
            "add replicas with kafka-reassign-partitions.sh, and set"
            " min.insync.replicas=2");
        return;
    }
    if (settings.min_insync >= 0 && settings.min_insync < 2)
        set_fix(kafka,
                add_warning(kafka, findings, name,
                            "min.insync.replicas is 1: a message acknowledged by only one replica"
                            " is lost with that replica"),
                name, "min.insync.replicas=2");
    if (settings.unclean_leader)
        set_fix(kafka,
                add_warning(kafka, findings, name,
                            "unclean.leader.election.enable is true: a replica that lacks"
                            " acknowledged messages may become the leader, and they are lost"),
                name, "unclean.leader.election.enable=false");
}

static int report_missing(struct kafka *kafka, const char *name, rd_kafka_resp_err_t code,
                          struct findings *findings, struct error *error)
{
    char text[KAFKA_REASON_BYTES];
    bool unknown = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;

    if (unknown && kafka->base.options->create) {
        (void)findings_add(findings, FINDING_NOTE,
                           "sink %s, topic \"%s\": it is missing; init or run will create it",
                           kafka->base.options->name, name);
        return 0;
    }
    (void)snprintf(text, sizeof text, "%s \"%s\"%s%s", unknown ? "unknown topic" : "topic", name,
                   unknown ? "" : ": ", unknown ? "" : rd_kafka_err2str(code));
    kafka_fail(kafka, error, ERROR_PERMANENT, text);
    if (unknown)
        return error_hint(error, "kafka-topics.sh --bootstrap-server %s --create --topic %s",
                          kafka->base.options->brokers.items[0], name);
    return -1;
}

int kafka_inspect(struct kafka *kafka, const char *name, struct findings *findings,
                  struct error *error)
{
    rd_kafka_topic_t *topic = rd_kafka_topic_new(kafka->client, name, NULL);
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t code;
    int status = 0;

    if (topic == NULL)
        return kafka_fail(kafka, error, ERROR_PERMANENT, rd_kafka_err2str(rd_kafka_last_error()));
    code = rd_kafka_metadata(kafka->client, 0, topic, &metadata, KAFKA_ASK_MS);
    rd_kafka_topic_destroy(topic);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return kafka_fail(kafka, error, ERROR_TRANSIENT, rd_kafka_err2str(code));
    if (metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt == 0)
        status = report_missing(kafka, name,
                                metadata->topic_cnt == 1 && metadata->topics[0].err
                                    ? metadata->topics[0].err
                                    : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                                findings, error);
    else
        warn(kafka, &metadata->topics[0], findings);
    rd_kafka_metadata_destroy(metadata);
    return status;
}
