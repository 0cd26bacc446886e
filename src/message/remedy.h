#ifndef MESSAGE_REMEDY_H
#define MESSAGE_REMEDY_H

/* What mends a refusal, told by the reason that a client of broker/ gave for it (batch_refuse),
 * so that it can also be told of a row that another relay parked. */
const char *remedy_for(const char *reason);

#endif
