#ifndef MESSAGE_REMEDY_H
#define MESSAGE_REMEDY_H

/* What mends a refusal, told by the reason that was given for it (batch_refuse), so that it can
 * also be told of a row that another relay parked. NULL: not known. */
const char *remedy_for(const char *reason);

/* Of a missing destination whose reason is not known. */
#define REMEDY_CHECK "outbox-relay check says what is wrong with it"

#endif
