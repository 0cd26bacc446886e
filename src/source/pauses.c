#include "source/pauses.h"

#include "base/text.h"

#include <string.h>

const char *pause_name_problem(const char *name)
{
    if (name[0] == '\0')
        return "it is empty";
    if (strlen(name) > PAUSE_NAME_MAX)
        return "it is longer than 512 bytes";
    if (!text_is_utf8(name, strlen(name)))
        return "it is not UTF-8";
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return "it contains a control character";
    return NULL;
}
