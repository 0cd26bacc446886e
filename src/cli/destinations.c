/* What `init` makes at the brokers. */
#include "cli/cli.h"

#include "broker/broker.h"

#include <stdio.h>

/* Topics can be made by way of a broker that then sends its clients elsewhere. */
static void warn_of_sink(struct broker *broker)
{
    struct findings findings;
    struct error error;

    if (findings_init(&findings) < 0)
        return;
    if (broker_inspect(broker, NULL, &findings, &error) < 0)
        findings_add_error(&findings, &error);
    for (int i = 0; i < findings.count; i++)
        if (findings.items[i].level == FINDING_ERROR)
            cli_say("warning: %s\n  %s", findings.items[i].text, findings.items[i].fix);
    findings_free(&findings);
}

/* Creates a sink's missing topics or stream if it has create = true, so that `run` finds them. */
static enum exit_status make_destinations(const struct sink_options *options)
{
    struct error error;
    struct broker *broker;
    int status = 0;

    if (!options->create)
        return EXIT_DONE;
    broker = broker_open(options, NULL, &error);
    if (broker == NULL || broker_ready(broker, &error) < 0)
        status = -1;
    else
        warn_of_sink(broker);
    for (int i = 0; status == 0 && i < options->allow.count; i++)
        status = broker_make(broker, options->allow.items[i], &error);
    if (status == 0)
        (void)printf("sink %s: %s\n", options->name,
                     options->allow.count > 0
                         ? "the destinations in allow are ready"
                         : "reachable; a topic is made when its first event is sent");
    broker_close(broker);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}

enum exit_status cli_make_destinations(const struct relay_options *relay)
{
    enum exit_status status = EXIT_DONE;

    for (int i = 0; status == EXIT_DONE && i < relay->sink_count; i++)
        status = make_destinations(&relay->sinks[i]);
    broker_end();
    return status;
}
