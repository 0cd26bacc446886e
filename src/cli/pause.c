/* What may be paused. */
#include "cli/cli.h"

#include "route/match.h"
#include "source/pauses.h"

#include <stdio.h>
#include <string.h>

/* Only the configuration says which rows belong to a sink, so a sink that it lacks would pause
 * nothing. NULL: there is no problem. */
static const char *sink_problem(const char *name, const struct relay_options *relay)
{
    static char why[1024] = "no sink of this name is configured; the configured ones are:";

    for (int i = 0; i < relay->sink_count; i++) {
        size_t len = strlen(why);

        if (strcmp(relay->sinks[i].name, name) == 0)
            return NULL;
        (void)snprintf(why + len, sizeof why - len, " %s", relay->sinks[i].name);
    }
    return why;
}

const char *cli_pause_problem(struct text what, const char *name, const struct relay_options *relay)
{
    static char why[128];
    const char *problem = pause_name_problem(name);
    struct match match;

    if (problem != NULL)
        return problem;
    if (text_equal(what, text_of("SINK")))
        return sink_problem(name, relay);
    if (!text_equal(what, text_of("PATTERN")))
        return NULL;
    if (match_parse(&match, name, why, sizeof why) < 0)
        return why;
    match_free(&match);
    return NULL;
}
