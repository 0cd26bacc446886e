#include "broker/sink.h"

#include <string.h>

bool sink_allows(const struct sink_options *options, struct text destination)
{
    for (int i = 0; i < options->allow.count; i++)
        if (match_topic(&options->allowed[i], destination))
            return true;
    return options->allow.count == 0;
}

bool sink_pattern(const char *allowed)
{
    return strpbrk(allowed, "*>") != NULL || strncmp(allowed, "re:", 3) == 0;
}
