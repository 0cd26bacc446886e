#include "base/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const finding_level_names[FINDING_LEVELS] = {"ok", "note", "warning", "error"};

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
    finding->is_schema = false;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    return finding;
}

void findings_add_error(struct findings *findings, const struct error *error)
{
    struct finding *finding = findings_add(findings, FINDING_ERROR, "%s", error->text);

    finding_fix(finding, "%s", error->hint);
    finding->is_schema = error->is_schema;
}

void finding_fix(struct finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(finding->fix, sizeof finding->fix, format, args);
    va_end(args);
}

const struct finding *findings_first_error(const struct findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        if (findings->items[i].level == FINDING_ERROR)
            return &findings->items[i];
    return NULL;
}

bool findings_have_error(const struct findings *findings)
{
    return findings_first_error(findings) != NULL;
}

int findings_end(struct findings *findings, struct error *error)
{
    const struct finding *first = findings_first_error(findings);
    int status = 0;

    if (first != NULL) {
        status = error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", first->text);
        (void)error_hint(error, "%s", first->fix);
        error->is_schema = first->is_schema;
    }
    findings_free(findings);
    return status;
}
