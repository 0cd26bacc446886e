#ifndef ADMIN_PAUSE_H
#define ADMIN_PAUSE_H

#include "admin/admin.h"

/*
 * Pauses of a sink, of the topics of a pattern, or of a key (catalog/pauses.h says how they stand
 * in the database). Relays read them with each claim, so a pause holds for every claim that begins
 * after it was committed. What was claimed before may still be on its way to the broker.
 */

enum pause_what { PAUSE_SINK, PAUSE_TOPIC_PATTERN, PAUSE_KEY_VALUE };

/* "sink", "topic", "key". */
const char *pause_word(enum pause_what what);

/* NULL, or why nothing can be paused by this name. */
const char *pause_name_problem(const char *name);

/* 1: it is paused now; 0: it was already, and keeps its reason; -1. `reason` may be NULL. */
int admin_pause(struct admin *admin, enum pause_what what, const char *name, const char *reason,
                struct error *error);
/* Ends it. 1: it was paused; 0: it was not; -1. */
int admin_resume(struct admin *admin, enum pause_what what, const char *name, struct error *error);
/* What waited for that pause is due now. Only after admin_wait_for_claims(): a batch that was
 * claimed before may yet park rows for it. 0 or -1. */
int admin_let_go(struct admin *admin, enum pause_what what, const char *name, struct error *error);

/* Waits until every batch that is claimed now has been settled or abandoned, at most for the
 * longest time that a claim may live. Returns how many are left, or -1. */
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
    int64_t more; /* that found no room */
};

/* What is paused now. 0 or -1. */
int admin_list_pauses(struct admin *admin, struct pause_notes *pauses, struct error *error);

#endif
