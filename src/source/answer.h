#ifndef SOURCE_ANSWER_H
#define SOURCE_ANSWER_H

/*
 * What a relay says of itself when `status` asks: JSON in ASCII, so that it works in a database of
 * any encoding. relay/status_replies.h writes it:
 * {"table": NUMBER, "version": TEXT, "since": MS, "sent": N, "parked": N, "dead": N, "rate": PER_S,
 *  "unsent_from": ID, "sent_at": MS, "config": FINGERPRINT (fingerprint.h),
 *  "troubles": [{"lanes": TEXT, "error": TEXT, "fix": TEXT, "since": MS, "failures": N,
 *  "of_broker": BOOLEAN}], "sinks": [{"name": TEXT, "state": TEXT, "since": MS, "error": TEXT,
 *  "order": TEXT}], "lanes": [[NUMBER, STATE, FOR_MS, CLAIM_FOR_MS]]}
 */

#define STATUS_ANSWER_BYTES 8000 /* PostgreSQL's limit of a notification's payload, with a NUL */

#endif
