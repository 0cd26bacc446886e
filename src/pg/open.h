#ifndef PG_OPEN_H
#define PG_OPEN_H

#include "pg/session.h"
#include "pg/session_options.h"

/* Connects, refuses a pooler in transaction mode, and applies the session's settings. search_path
 * is emptied before any expression is evaluated, so that nobody's function or operator can take the
 * place of a built-in one. `name` becomes part of application_name. */
int session_open(struct session *session, const struct session_options *options, const char *name,
                 struct error *error);

#endif
