#ifndef BROKER_KAFKA_VERDICTS_H
#define BROKER_KAFKA_VERDICTS_H

#include <stdbool.h>

/* Classes of librdkafka's and brokers' error codes; the table is in verdicts.c. */
enum kafka_class {
    KAFKA_ACKNOWLEDGED,
    KAFKA_BACKPRESSURE,
    KAFKA_POISON,    /* this message, or another one in its record batch, is bad */
    KAFKA_NEIGHBOUR, /* another message in its record batch is bad */
    KAFKA_DESTINATION_DOWN,
    KAFKA_PARTITION_DOWN,
    KAFKA_BROKER_DOWN,
    KAFKA_MAYBE_STORED,
    KAFKA_FATAL,
    KAFKA_UNKNOWN_ERROR
};

enum kafka_class kafka_class_of(int code);

/* Whether the code means that the topic does not exist. The relay never chooses a partition, so an
 * unknown partition means that its topic was deleted. */
bool kafka_is_unknown(int code);

#endif
