#ifndef MYSQL_MEMORY_H
#define MYSQL_MEMORY_H

#include "mysql/state.h"

/* Settings of the control table. Return 0, or -1 with *error set. */

int memory_keep_setting(const struct tables *tables, struct db_session *session, const char *name,
                        const char *value, struct error *error);
int memory_drop_setting(const struct tables *tables, struct db_session *session, const char *name,
                        struct error *error);
/* `items` and `loss`: as watch_keep_acknowledged() and watch_keep_loss() have them. */
int memory_keep_acknowledged(const struct tables *tables, struct db_session *session,
                             const char *items, struct error *error);
int memory_keep_loss(const struct tables *tables, struct db_session *session, const char *loss,
                     struct error *error);

#endif
