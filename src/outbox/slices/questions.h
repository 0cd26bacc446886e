#ifndef OUTBOX_SLICES_QUESTIONS_H
#define OUTBOX_SLICES_QUESTIONS_H

#include "catalog/questions.h"
#include "pg/session.h"
#include "source/watch.h"

/*
 * Answers `status` for the process. A question is a notification with a token; the answer is a
 * notification on the channel named after that token. Anyone may ask, so few questions are kept at
 * a time.
 *
 * Functions that return int return 0, or -1 with *error set: the session is lost.
 */

#define QUESTIONS_MAX 4

struct questions {
    char tokens[QUESTIONS_MAX][STATUS_TOKEN_BYTES];
    int count;
};

/* Starts listening for questions on the session. */
int questions_listen(struct questions *questions, struct session *session, struct error *error);

/* Keeps a question, unless its token is not one that `status` could have made. */
void questions_ask(struct questions *questions, const char *token);

/* Answers the questions that have arrived, naming the table by its oid. */
int questions_answer(struct questions *questions, struct session *session,
                     const struct watch_process *process, uint32_t table, struct error *error);

#endif
