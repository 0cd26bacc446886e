#ifndef MYSQL_ADMIN_H
#define MYSQL_ADMIN_H

#include "mysql/state.h"
#include "source/admin.h"

/* Shared by the files that implement source/admin.h and source/status.h. */

struct admin {
    const struct outbox_options *options;
    struct db_session session;
    struct db_server server;
    struct tables tables;
};

#endif
