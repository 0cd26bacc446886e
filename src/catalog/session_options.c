#include "catalog/session_options.h"

struct session_options outbox_session_options(const struct outbox_options *options)
{
    return (struct session_options){.url = options->url,
                                    .password_file = options->password_file,
                                    .allow_plaintext = options->allow_plaintext,
                                    .synchronous_commit = options->synchronous_commit,
                                    .time_zone = options->time_zone,
                                    .idle_ms = options->publish_timeout_ms + OUTBOX_SLACK_MS};
}
