/*
 * What the parts of the reader share: the options, one message in the form that both brokers'
 * readers fill, and its output. See reader.c for what the program is.
 */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without a message or an answer for so long the reader gives up. */
enum { PATIENCE_S = 60 };

struct options {
    bool count;         /* print the number of messages instead of the messages */
    bool interest;      /* stream create: retention "interest" */
    long duplicates_ms; /* stream create: its duplicate window; 0: the server's default */
    long replicas;      /* topics create, stream create */
    char *setting;      /* topics create: NAME=VALUE of the topic, or NULL */
    char **operands;
    int operand_count;
};

/* data NULL: absent, or NULL at the broker; that is not the same as size 0. */
struct field {
    const char *data;
    size_t size;
};

/* The bytes belong to the broker's client and live until the next message. */
struct message {
    const char *destination;
    int32_t partition;
    int64_t position;
    int64_t stored_ms; /* the broker's clock, since 1970; -1: it did not say */
    struct field key, id, type, created_at, message_id, payload;
};

/* ---- reader.c ---- */

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t now_ms(void);
int64_t deadline_from_now(void); /* PATIENCE_S from now, by now_ms */
void pause_ms(long milliseconds);
long parse_number(const char *text, const char *what);

/* ---- reader_output.c ---- */

/* Forgets the headers of the message before. */
void message_begin(struct message *message);
/* Sets the field of a known header once; everything else, repeats too, joins the other headers. */
void message_header(struct message *message, const char *name, struct field value);
/* Prints the message, or only counts it; returns how many there have been. */
int64_t message_emit(const struct options *options, const struct message *message);
void output_finish(const struct options *options);

/* ---- reader_kafka.c, reader_nats.c: the verbs; each returns the exit status ---- */

int verb_kafka(const struct options *options);
int verb_kafka_end(const struct options *options);
int verb_topics(const struct options *options);
int verb_nats(const struct options *options);
int verb_nats_end(const struct options *options);
int verb_stream(const struct options *options);

#endif
