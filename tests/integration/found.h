#ifndef INTEGRATION_FOUND_H
#define INTEGRATION_FOUND_H

#include "base/finding.h"
#include "test.h"

#include <stdbool.h>
#include <string.h>

/* Whether a finding says this, with such a fix; prints all of them when none does. */
static inline bool found(const struct findings *findings, const char *text, const char *fix)
{
    for (int i = 0; i < findings->count; i++)
        if (strstr(findings->items[i].text, text) != NULL &&
            strstr(findings->items[i].fix, fix) != NULL)
            return true;
    for (int i = 0; i < findings->count; i++)
        print_error("%s\n  fix: %s\n", findings->items[i].text, findings->items[i].fix);
    return false;
}

#endif
