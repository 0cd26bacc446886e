#ifndef ADMIN_PARKED_PAUSE_H
#define ADMIN_PARKED_PAUSE_H

#include "admin/admin.h"

/*
 * Pauses of a sink, of the topics that match a pattern, or of a key. catalog/pauses.h says how they
 * are stored. Relays read them with each claim, so a pause holds for every claim that begins
 * after it was committed. Batches claimed before that may still be on their way to the broker.
 */

enum pause_what { PAUSE_SINK, PAUSE_TOPIC_PATTERN, PAUSE_KEY_VALUE };

/* "sink", "topic", "key". */
const char *pause_word(enum pause_what what);

/* Why a pause cannot have this name; NULL: it can. */
const char *pause_name_problem(const char *name);

/* Returns 1 when it is paused now; 0 when it was paused already, and keeps its reason; -1 with
 * *error set. `reason` may be NULL. */
int admin_pause(struct admin *admin, enum pause_what what, const char *name, const char *reason,
                struct error *error);
/* Ends a pause. Returns 1; 0 when there was no such pause; -1 with *error set. */
int admin_resume(struct admin *admin, enum pause_what what, const char *name, struct error *error);
/* Makes the rows due that waited for the end of the pause. Call it after admin_wait_for_claims(),
 * because a batch claimed before the end may still park rows. 0, or -1 with *error set. */
int admin_let_go(struct admin *admin, enum pause_what what, const char *name, struct error *error);

/* Waits until every batch that is claimed now has been settled or abandoned, at most as long as a
 * claim can last. Returns how many are left, or -1 with *error set. */
int admin_wait_for_claims(struct admin *admin, struct error *error);

#define PAUSES_LISTED_MAX 64

struct pause_note {
    char what[8]; /* "sink", "topic", "key" */
    char name[513];
    char since[32]; /* RFC 3339, UTC */
    double age_s;
    char by[64];      /* the role */
    char reason[256]; /* "": none was given */
};

struct pause_notes {
    struct pause_note items[PAUSES_LISTED_MAX]; /* the oldest first */
    int count;
    int64_t more; /* how many did not fit */
};

/* Lists what is paused now. 0, or -1 with *error set. */
int admin_list_pauses(struct admin *admin, struct pause_notes *pauses, struct error *error);

#endif
