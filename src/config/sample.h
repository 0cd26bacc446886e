#ifndef CONFIG_SAMPLE_H
#define CONFIG_SAMPLE_H

/* config/relay.toml, turned into a C file by the build; terminated. */
extern const char sample_toml[];

#endif
