/* Which relays of a table differ, and in what. */
#include "admin/status/relays.h"

#include <stdio.h>

#define FIX                                                                                        \
    "give all relays of this table the same configuration: outbox-relay check, with each of their" \
    " files, says which it is like"

/* Of those with the configuration of this one: it is their first; how many there are besides. */
static bool is_first(const struct status *status, int relay)
{
    const struct fingerprint *config = &status->processes[relay].config;

    for (int i = 0; i < relay; i++)
        if (status->processes[i].config.is_known &&
            fingerprint_is_same(&status->processes[i].config, config))
            return false;
    return config->is_known;
}

static int count_like(const struct status *status, const struct fingerprint *config)
{
    int count = 0;

    for (int i = 0; i < status->process_count; i++)
        count += status->processes[i].config.is_known &&
                 fingerprint_is_same(&status->processes[i].config, config);
    return count;
}

/* NULL: no relay says what it would do. */
static const struct status_relay *find_most(const struct status *status)
{
    const struct status_relay *most = NULL;
    int count = 0;

    for (int i = 0; i < status->process_count; i++) {
        int like = is_first(status, i) ? count_like(status, &status->processes[i].config) : 0;

        if (like > count) {
            count = like;
            most = &status->processes[i];
        }
    }
    return most;
}

static const char *name_group(char *out, size_t size, const struct status *status,
                              const struct status_relay *relay)
{
    int others = count_like(status, &relay->config) - 1;

    if (others > 0)
        (void)snprintf(out, size, "%s and %d like it", relay->name, others);
    else
        (void)snprintf(out, size, "%s", relay->name);
    return out;
}

static void compare_with_own(const struct status *status, const struct fingerprint *own,
                             const char *name, const struct status_relay *relay,
                             struct findings *findings)
{
    char group[160];
    char parts[512];

    fingerprint_compare(&relay->config, own, parts, sizeof parts);
    (void)name_group(group, sizeof group, status, relay);
    if (parts[0] == '\0')
        (void)findings_add(findings, FINDING_OK, "relay %s: the same configuration", group);
    else
        finding_fix(findings_add(findings, FINDING_WARNING, "%s differs from relay %s in: %s", name,
                                 group, parts),
                    "give all relays of this table the same configuration");
}

static void compare_with_most(const struct status *status, const struct status_relay *most,
                              const struct status_relay *relay, struct findings *findings)
{
    char group[160];
    char other[160];
    char parts[400];

    fingerprint_compare(&most->config, &relay->config, parts, sizeof parts);
    if (parts[0] != '\0')
        finding_fix(findings_add(findings, FINDING_WARNING, "relay %s differs from relay %s in: %s",
                                 name_group(group, sizeof group, status, relay),
                                 name_group(other, sizeof other, status, most), parts),
                    FIX);
}

void relays_compare(const struct status *status, const struct fingerprint *own, const char *name,
                    struct findings *findings)
{
    const struct status_relay *most = find_most(status);

    for (int i = 0; i < status->process_count; i++) {
        const struct status_relay *relay = &status->processes[i];

        if (is_first(status, i) && own != NULL)
            compare_with_own(status, own, name, relay, findings);
        else if (is_first(status, i))
            compare_with_most(status, most, relay, findings);
        else if (relay->answers && !relay->config.is_known && (own != NULL || most != NULL))
            finding_fix(findings_add(findings, FINDING_WARNING,
                                     "relay %s does not say how it is configured: its version is"
                                     " %s",
                                     relay->name, relay->version),
                        "replace it by a relay of this version");
    }
}
