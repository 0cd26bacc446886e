#ifndef CATALOG_SESSION_OPTIONS_H
#define CATALOG_SESSION_OPTIONS_H

#include "pg/connect.h"
#include "source/options.h"

/* The session options of an outbox; the strings still belong to `options`. */
struct session_options outbox_session_options(const struct outbox_options *options);

#endif
