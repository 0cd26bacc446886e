/* What the program and its database are called, and what the database lacks. */
#include "mysql/state.h"

#include <stddef.h>

const char source_program[] = "outbox-relay-mysql";
const char source_check[] = "outbox-relay-mysql check";
const char source_audit[] = "";
const char source_database[] = "the database";
const char source_table[] = "outbox";

const char *source_lacks(const struct outbox_options *options, const char **key)
{
    const struct {
        const char *key;
        bool is_set;
    } lacks[] = {{"on_sent", options->on_sent == ON_SENT_POSITION},
                 {"park", options->park != NULL},
                 {"columns", outbox_is_numbered(options)},
                 {"headers", options->header_count > 0}};

    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        *key = lacks[i].key;
        if (lacks[i].is_set)
            return "is there for PostgreSQL alone (docs/mysql.md)";
    }
    return NULL;
}

struct source *source_open(const struct outbox_options *options)
{
    return source_new(options, options->order == ORDER_KEY ? options->slices : TABLES_SLICES);
}
