#ifndef CATALOG_QUESTIONS_H
#define CATALOG_QUESTIONS_H

/* How `status` asks the relays: by notifications. The payload of a question is a token; the answer
 * (source/answer.h) goes to the channel named after it. */
#define STATUS_CHANNEL "outbox_relay_status"
#define STATUS_ANSWER_CHANNEL "outbox_relay_answer_"
#define STATUS_TOKEN_BYTES 33 /* 32 hexadecimal digits and a NUL */

#endif
