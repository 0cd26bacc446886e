#include "outbox/slices/source_state.h"

#include <stddef.h>

const char source_program[] = "outbox-relay";
const char source_check[] = "outbox-relay check";
const char source_audit[] = "outbox-relay audit";
const char source_database[] = "PostgreSQL";
const char source_table[] = "public.outbox";

const char *source_lacks(const struct outbox_options *options, const char **key)
{
    (void)options;
    (void)key;
    return NULL;
}

struct source *source_open(const struct outbox_options *options)
{
    return source_new(options, options->order == ORDER_KEY ? options->slices : 1);
}
