#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "source/options.h"

#include <stdint.h>

/*
 * The source is the database from which rows come. The headers of this folder are the seam: what
 * the relay, its configuration and its pages ask of a database. A program is linked with the rooms
 * of one database, which define these functions; no function of this folder shows which one it is.
 *
 * A struct source is what the lanes and the watcher of a process share, such as what is known of
 * the ids from which they read. Any thread may use it.
 */

/* In messages: the program's name, as it is typed, and that of its database. */
extern const char source_program[];
extern const char source_database[];
extern const char source_check[]; /* the command that says what is wrong */
/* The command that says which sent events a broker has lost; "": there is none. */
extern const char source_audit[];
/* The default of [outbox] table. */
extern const char source_table[];

/* What of the options the database cannot do: a text behind the name of a key in [outbox], which is
 * set; or NULL. */
const char *source_lacks(const struct outbox_options *options, const char **key);

struct source;

/* NULL: no memory. The options outlive it. */
struct source *source_open(const struct outbox_options *options);
void source_close(struct source *source);
/* Returns an id below which there is no unsent row; INT64_MIN: not known. */
int64_t source_unsent_from(struct source *source);
/* Returns for how many milliseconds the id up to which no further row can become visible has stood
 * still although higher ids were drawn; 0: it does not. */
int64_t source_stands_still_ms(struct source *source);

#endif
