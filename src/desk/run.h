#ifndef DESK_RUN_H
#define DESK_RUN_H

#include "admin/admin.h"
#include "base/text.h"

/* clang-format off */
/*
 * Runs a command that is statements and little else. Its steps, a line each (cli/commands.txt):
 *
 *   values NAME     runs the statement; the columns of its only row are parameters of what follows
 *   query NAME      the same with the statement that this one returns; without them where
 *                   PostgreSQL refuses it
 *   rows NAME       shows the rows as a table, or on a pipe as lines with tabs between the values
 *   record NAME     shows the rows as a value a line
 *   text NAME       prints the rows as they are
 *   toml NAME       prints them as lines of a configuration: key, value and comment
 *   run NAME        runs the statement
 *   any table       the first step, where the table need not be an outbox
 *   writes          the role must be one that may write to tables of others; with --dry-run any
 *   sent rows       must be there to be sent again: on_sent = "mark", and the time is the relay's
 *   replay NAME     copies sent rows by the statement, at --rate, and says how many; not with
 *                   --dry-run. "copy" does it silently
 *   wait            waits until every batch that is claimed now is settled; it is an error if not,
 *                   but for "wait or go on"
 *   say             prints the parameter "said"
 *   done TEXT       how many rows there were, in place of N; only without --dry-run
 *   dry-run TEXT    the same, only with it
 *   none TEXT       is said on a terminal when there was no row
 *
 * NAME is that of a statement, as `outbox-relay sql` lists it. Parameters are the options,
 * {$dry_run} for --dry-run, and {$verb}, {$ids} or {$name}, and {$terminal}. Columns whose names
 * begin with "desk_" are not shown:
 *
 *   desk_refused   an error, and nothing was done; desk_fix: what to do then
 *   desk_place     the row's place. The statement is repeated as long as it returns {page_rows} of
 *                   them, with the last place as {$place}. NULL: there is no row
 *   desk_count     how many rows there are, in place of the number of rows that are shown
 *   desk_next      the statement is repeated with this as {$place}, until it is NULL
 *   desk_stays     of a row with an error whether it stays in the outbox (remedy.h)
 *
 * With --json a row is its first value, a JSON object. A statement that fails because PostgreSQL
 * cannot return a value is repeated with greater care (enum desk_detail): row by row, then with
 * values escaped, then without them.
 */
/* clang-format on */
struct desk;

/* NULL: no memory. */
struct desk *desk_new(struct admin *admin, struct error *error);
void desk_free(struct desk *desk);
/* Sets a parameter to a copy of the value. 0, or -1 with *error set. */
int desk_set(struct desk *desk, const char *name, const char *value, struct error *error);
/* The same with the option's value as SQL can use it. The value must outlive the desk. */
int desk_set_option(struct desk *desk, const char *name, const char *value, struct error *error);
/* Sets an array, such as "ids". */
int desk_set_array(struct desk *desk, const char *name, const char *const *values, int count,
                   struct error *error);
/* Takes the steps. 0, or -1 with *error set. */
int desk_run(struct desk *desk, struct text steps, struct error *error);
/* How many rows there were, or were replayed. */
int64_t desk_total(const struct desk *desk);

#endif
