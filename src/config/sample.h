#ifndef CONFIG_SAMPLE_H
#define CONFIG_SAMPLE_H

/* The text of config/relay.toml, embedded by the build; NUL-terminated. */
extern const char embedded_sample[];

#endif
