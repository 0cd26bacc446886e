/*
 * Reads back what reached the brokers, for tests and audits, and does the few administrative acts
 * that their scripts need. The verbs are in the table below.
 *
 * It shares no code with the relay: what it reports is a second opinion. It reads each message
 * once, in the broker's order, checks what NATS delivers for gaps, and judges nothing else.
 *
 * A message is one line of twelve columns, separated by tabs, as psql's \copy loads them:
 *
 *   arrival  topic-or-subject  partition  offset-or-sequence  key  id  type  created_at
 *   msg-id  other-headers  payload  stored_ms
 *
 * NULL is \N; backslash, tab, newline and other control bytes are escaped. The other headers are
 * name=value joined with &, where %, & and = are written %25 %26 %3D; a NULL value has no "=".
 * stored_ms is the time by the broker, in milliseconds since 1970.
 */

#define _POSIX_C_SOURCE 200809L

#include "reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct verb {
    const char *name;
    int (*act)(const struct options *options);
    int operands_min;
    const char *operands;
    const char *help;
};

static const struct verb verbs[] = {
    {"kafka", verb_kafka, 2, "BROKERS TOPIC...", "read all that is committed in the topics"},
    {"nats", verb_nats, 2, "URL STREAM [SUBJECT]", "read the stream, or a filter of its subjects"},
    {"kafka-end", verb_kafka_end, 2, "BROKERS TOPIC...", "how many offsets the topics hold"},
    {"nats-end", verb_nats_end, 2, "URL STREAM", "how many messages the stream holds"},
    {"topics", verb_topics, 3, "BROKERS create NAME PARTITIONS... | delete NAME... | show NAME",
     "create: ends when every partition has a leader; show: partition, leader, in-sync replicas"},
    {"stream", verb_stream, 3, "URL create NAME SUBJECT... | delete NAME | purge NAME SEQUENCE",
     "with file storage; purge: what lies before that"},
};

enum { VERBS = sizeof verbs / sizeof verbs[0] };

void die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fflush(stdout);
    fputs("reader: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t deadline_from_now(void)
{
    return now_ms() + PATIENCE_S * 1000;
}

void pause_ms(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

long parse_number(const char *text, const char *what)
{
    char *end;

    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < 0)
        die("%s: not a number: %s", what, text);
    return number;
}

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: reader VERB OPERANDS... [--count]\n\n");
    for (int i = 0; i < VERBS; i++)
        fprintf(stderr, "  %-10s %s\n%13s%s\n", verbs[i].name, verbs[i].operands, "",
                verbs[i].help);
    fprintf(stderr, "\n  --count            print only the number of messages\n"
                    "  --duplicates-ms N  of stream create: its duplicate window\n"
                    "  --replicas N       of stream create and topics create; 1 by default\n"
                    "  --setting NAME=VALUE  of topics create\n"
                    "  --interest         of stream create: its retention\n");
    exit(2);
}

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    usage();
}

/* Options may stand anywhere; the operands are moved together at the front. */
static struct options parse_options(int argc, char **argv)
{
    struct options options = {.replicas = 1, .operands = argv};

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0) {
            options.count = true;
        } else if (strcmp(argv[i], "--interest") == 0) {
            options.interest = true;
        } else if (strcmp(argv[i], "--duplicates-ms") == 0 && i + 1 < argc) {
            options.duplicates_ms = parse_number(argv[++i], "--duplicates-ms");
        } else if (strcmp(argv[i], "--replicas") == 0 && i + 1 < argc) {
            options.replicas = parse_number(argv[++i], "--replicas");
        } else if (strcmp(argv[i], "--setting") == 0 && i + 1 < argc) {
            options.setting = argv[++i];
        } else if (strncmp(argv[i], "--", 2) == 0) {
            usage();
        } else {
            options.operands[options.operand_count++] = argv[i];
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        usage();
    const struct verb *verb = find_verb(argv[1]);
    const struct options options = parse_options(argc - 2, argv + 2);
    if (options.operand_count < verb->operands_min)
        usage();

    int status = verb->act(&options);
    if (fflush(stdout) != 0 || ferror(stdout))
        die("cannot write the output: %s", strerror(errno));
    return status;
}
