#ifndef CONFIG_READ_PROBLEMS_H
#define CONFIG_READ_PROBLEMS_H

/* The problems of a configuration file, as lines to print. */

#define CONFIG_PROBLEMS_MAX 64

/* "relay.toml:7:1: unknown key ..."; secrets never appear in one. */
struct config_problems {
    char *lines[CONFIG_PROBLEMS_MAX]; /* owned */
    int count;
    char *warnings[CONFIG_PROBLEMS_MAX]; /* owned; they do not make the configuration unusable */
    int warning_count;
};

void config_problems_free(struct config_problems *problems);

#endif
