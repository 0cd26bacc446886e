#include "config/keys/loader.h"

struct toml_node *loader_locate(const struct loader *loader, const char *section, const char *key)
{
    struct toml_node *table = toml_find(loader->root, section);
    struct toml_node *node = toml_find(table, key);

    if (node != NULL)
        return node;
    return table != NULL ? table : loader->root;
}

struct toml_node *loader_sink(const struct loader *loader, int sink)
{
    return toml_find(toml_find(loader->root, "sink"), loader->config->relay.sinks[sink].name);
}
