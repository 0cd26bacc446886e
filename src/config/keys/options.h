#ifndef CONFIG_KEYS_OPTIONS_H
#define CONFIG_KEYS_OPTIONS_H

#include "base/log.h"
#include "relay/options.h"
#include "trace/options.h"

/* The configuration: the structs whose fields the table of keys fills. */

struct config {
    char *path; /* NULL: no file was read */
    struct relay_options relay;
    char *http_listen;
    struct trace_options trace;
    enum log_level log_level;
    enum log_format log_format;
};

#endif
