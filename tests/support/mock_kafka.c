/*
 * librdkafka's mock cluster in a process of its own, for machines without Java or Maven.
 *
 *   mock_kafka BOOTSTRAP_FILE [TOPIC:PARTITIONS ...]
 *
 * Writes "host:port,..." to BOOTSTRAP_FILE once the cluster accepts clients and runs until SIGTERM.
 * Any other topic appears when a client first names it, with the library's default of partitions.
 *
 * It keeps about 5 MB a partition, in memory; it neither fences producers nor checks their sequence
 * numbers. What must be proven of Kafka is proven against Apache Kafka.
 */

#define _POSIX_C_SOURCE 200809L

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKERS = 1, REPLICAS = 1 };

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "mock_kafka: %s: %s\n", what, detail);
    exit(1);
}

static void create_topic(rd_kafka_mock_cluster_t *cluster, const char *argument)
{
    char name[256];
    int partitions;

    if (sscanf(argument, "%255[^:]:%d", name, &partitions) != 2 || partitions < 1)
        die("not TOPIC:PARTITIONS", argument);
    rd_kafka_resp_err_t err = rd_kafka_mock_topic_create(cluster, name, partitions, REPLICAS);
    if (err)
        die(argument, rd_kafka_err2str(err));
}

/* Renamed into place, so that whoever polls for the file never reads half of it. */
static void announce(const char *path, const char *bootstraps)
{
    char partial[4096];

    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial)
        die("path too long", path);
    FILE *file = fopen(partial, "w");
    if (!file || fprintf(file, "%s\n", bootstraps) < 0 || fclose(file) != 0)
        die("cannot write", partial);
    if (rename(partial, path) != 0)
        die("cannot rename to", path);
}

static void wait_for_end(const sigset_t *ends)
{
    int number;

    sigwait(ends, &number);
}

int main(int argc, char **argv)
{
    char error[512];
    sigset_t ends;

    if (argc < 2) {
        fprintf(stderr, "usage: mock_kafka BOOTSTRAP_FILE [TOPIC:PARTITIONS ...]\n");
        return 2;
    }
    /* Before the library starts its threads: they inherit the mask. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);

    rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), error, sizeof error);
    if (!handle)
        die("cannot start", error);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(handle, BROKERS);
    if (!cluster)
        die("cannot start", "no cluster");
    for (int i = 2; i < argc; i++)
        create_topic(cluster, argv[i]);
    announce(argv[1], rd_kafka_mock_cluster_bootstraps(cluster));
    wait_for_end(&ends);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(handle);
    return 0;
}
