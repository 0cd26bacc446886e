#ifndef RELAY_TROUBLE_H
#define RELAY_TROUBLE_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Why a lane, or the watcher, makes no progress: the error of its last failed step, whatever
 * failed. It is kept from the first failure until a step makes progress. One thread writes it, any
 * thread may read it. Times are those of clock_now_ms().
 */
struct trouble {
    _Atomic int64_t since_ms;  /* the first failure since the last progress; 0: there is none */
    _Atomic uint64_t failures; /* failed steps since the process began */
    pthread_mutex_t lock;      /* guards what follows */
    uint64_t tries;            /* failed steps since since_ms */
    int64_t at_ms;             /* the last failure */
    bool was_connecting;       /* it was one to connect */
    struct error error;
};

void trouble_init(struct trouble *trouble);
/* A step has failed, to connect or later. An error without a remedy gets a general one. */
void trouble_note(struct trouble *trouble, const struct error *error, bool was_connecting);
/* A step has made progress. Cheap when there was no trouble. */
void trouble_end(struct trouble *trouble);
/* Whether there is none, or a database that answers and has nothing to do ends it: the failure was
 * one to connect, or lies `quiet_ms` back. */
bool trouble_ends_when_idle(struct trouble *trouble, int64_t quiet_ms);
bool trouble_is_of(struct trouble *trouble, enum error_origin origin);
/* How long it has lasted; 0: there is none. */
int64_t trouble_for_ms(const struct trouble *trouble, int64_t now_ms);

/* Whether the database does not answer. An error of a statement says that it does. */
bool trouble_is_of_absence(const struct error *error);

/* ---- what several threads of a process say of themselves, with one error */

#define TROUBLES_MAX 4
#define TROUBLE_LANES_MAX 64
#define TROUBLE_WATCHER 0 /* as the number of a lane */

struct trouble_report {
    struct error error;
    int64_t for_ms;                    /* the longest of them */
    uint64_t tries;                    /* of them all */
    bool is_of[TROUBLE_LANES_MAX + 1]; /* by the number of the lane */
};

struct trouble_list {
    struct trouble_report items[TROUBLES_MAX];
    int count;
};

/* Adds that of a lane, if there is one. When the list is full, it is added to the last item. */
void trouble_list_add(struct trouble_list *list, struct trouble *trouble, int lane, int64_t now_ms);
/* "lane 2", "2 of 8 lanes", "the watcher". */
const char *trouble_name_lanes(const struct trouble_report *trouble, int lane_count, char *out,
                               size_t size);

#endif
