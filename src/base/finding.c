#include "base/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int findings_init(struct findings *findings)
{
    findings->count = 0;
    findings->items = calloc(FINDINGS_MAX, sizeof *findings->items);
    return findings->items == NULL ? -1 : 0;
}

void findings_free(struct findings *findings)
{
    free(findings->items);
    *findings = (struct findings){0};
}

struct finding *findings_add(struct findings *findings, enum finding_level level,
                             const char *format, ...)
{
    struct finding *finding;
    va_list args;

    if (findings->count < FINDINGS_MAX)
        findings->count++;
    finding = &findings->items[findings->count - 1];
    finding->level = level;
    finding->fix[0] = '\0';
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    return finding;
}

void finding_fix(struct finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(finding->fix, sizeof finding->fix, format, args);
    va_end(args);
}
