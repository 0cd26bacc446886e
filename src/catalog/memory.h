#ifndef CATALOG_MEMORY_H
#define CATALOG_MEMORY_H

#include "catalog/table.h"
#include "source/acknowledged.h"

/*
 * What relays remember of their brokers, in the control table, so that a relay that starts notices
 * too that a broker has lost messages. Settings named "acknowledged SINK/DESTINATION[PARTITION]"
 * hold the highest position that was acknowledged there, and settings named "lost ..." what a
 * broker may have lost, until `audit` has looked into it; settings named "audited ..." keep that
 * for a day when it found events missing. They are settings, because relays of older versions take
 * every other kind for a pause.
 *
 * Functions that return int return 0, or -1 with *error set.
 */

int memory_read(const struct table *table, struct session *session,
                const struct memory_reader *reader, struct error *error);

/* `items`: a JSON array of objects with name and the fields of struct acknowledged. */
int memory_keep_acknowledged(const struct table *table, struct session *session, const char *items,
                             struct error *error);
/* `loss`: a JSON object with name, sink, destination ("": all of the sink), text and since. What
 * was acknowledged there is forgotten. */
int memory_keep_loss(const struct table *table, struct session *session, const char *loss,
                     struct error *error);

/* An audit, and what it has read. */
struct memory_audit {
    const char *const *sinks;
    int sink_count;
    int64_t began_ms; /* by the database's clock */
    int64_t since_ms; /* of what was sent since then; 0: ever */
    bool is_missing;  /* it found events missing */
};

/* Forgets what needs nobody's attention after it. */
int memory_forget_losses(const struct table *table, struct session *session,
                         const struct memory_audit *audit, struct error *error);

#endif
