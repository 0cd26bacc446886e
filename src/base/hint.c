#include "base/hint.h"

#include <string.h>

const char *hint_find(const char *where, struct text said)
{
    for (const struct hint *hint = embedded_hints; said.data != NULL && hint->where != NULL; hint++)
        if (strcmp(hint->where, where) == 0 &&
            memmem(said.data, said.len, hint->words, strlen(hint->words)) != NULL)
            return hint->advice;
    return "";
}
