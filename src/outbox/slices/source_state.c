#include "outbox/slices/source_state.h"

#include <stdlib.h>

struct source *source_new(const struct outbox_options *options, int slices)
{
    struct source *source = calloc(1, sizeof *source);

    if (source == NULL)
        return NULL;
    source->options = options;
    source->horizon = horizon_open(slices);
    source->flush = wal_flush_open();
    if (source->horizon != NULL && source->flush != NULL)
        return source;
    source_close(source);
    return NULL;
}

void source_close(struct source *source)
{
    if (source == NULL)
        return;
    horizon_close(source->horizon);
    wal_flush_close(source->flush);
    free(source);
}

int64_t source_unsent_from(struct source *source)
{
    return horizon_lowest(source->horizon);
}

int64_t source_stands_still_ms(struct source *source)
{
    return horizon_stands_still_ms(source->horizon);
}
