#ifndef CLI_AUDIT_H
#define CLI_AUDIT_H

#include "admin/admin.h"
#include "audit/audit.h"
#include "broker/read.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#include <jansson.h>

/* Shared by the files of the command `audit`. */

#define AUDIT_SHOWN 10 /* findings of a kind that people are shown */
#define AUDIT_TOPICS_MAX 10000
#define AUDIT_REPAIR_MAX 1000000

/* A sink, and what reading it back has shown. */
struct audited_sink {
    bool is_audited;
    const char *unreadable; /* why it cannot be, static text; NULL: it can */
    struct broker *broker;  /* says how rows would be sent */
    json_t *numbers;        /* of topics, by name */
    char **topics;          /* in the order of the numbers; owned, as each name */
    int topic_count;
    struct held_place *places;
    int place_count, place_capacity;
    bool lacks_place; /* there was no memory for one */
    bool is_read;
    struct error error; /* !is_read: why */
};

struct auditing {
    const struct arguments *arguments;
    struct config *config;
    struct audit *audit;
    struct admin *admin;
    struct audited_sink sinks[SINKS_MAX];
    struct sent_rows sent;
    int64_t began_ms; /* by the clock of the database */
    int64_t rows, no_sink, messages, foreign;
    bool tells_sent;      /* the table says what was sent */
    struct error why_not; /* !tells_sent */
    char untold[512];     /* why nothing can be said of events without a row; "": it can */
    int reading;          /* the sink that is being read */
    struct progress progress;
    char *shown[AUDIT_FINDINGS][AUDIT_SHOWN];
    char *shown_ids[AUDIT_SHOWN];            /* of the missing rows that are shown */
    char **missing_ids, **missing_event_ids; /* for --repair, in the order of the ids */
    int64_t missing_count;
    int missing_kept; /* of AUDIT_REPAIR_MAX */
    bool is_repaired; /* each of them will be sent again */
};

/* audit_text.c */
void audit_show_finding(void *closure, const struct audit_finding *finding);
/* All that was found, and what could not be told. */
void audit_show_summary(struct auditing *auditing);

#endif
