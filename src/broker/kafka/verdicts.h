#ifndef BROKER_KAFKA_VERDICTS_H
#define BROKER_KAFKA_VERDICTS_H

#include <stdbool.h>

/* What an error code of librdkafka or of a broker means; the table stands in verdicts.c. */
enum kafka_class {
    KAFKA_ACKNOWLEDGED,
    KAFKA_BACKPRESSURE,
    KAFKA_POISON,    /* this message, or one beside it in its record batch */
    KAFKA_NEIGHBOUR, /* one beside it, not this one */
    KAFKA_DESTINATION_DOWN,
    KAFKA_BROKER_DOWN,
    KAFKA_MAYBE_STORED,
    KAFKA_FATAL,
    KAFKA_UNKNOWN_ERROR
};

enum kafka_class kafka_class_of(int code);

/* Whether it says that a topic does not exist. No partition is ever named by us: one that is
 * unknown went with its topic. */
bool kafka_is_unknown(int code);

#endif
