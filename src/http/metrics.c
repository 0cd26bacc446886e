/* docs/monitoring.md says what each metric means and what to do about it. */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_BYTES 256

static void describe(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP outbox_relay_%s %s\n# TYPE outbox_relay_%s %s\n", name, help, name,
                  type);
}

static void put_value(FILE *out, const char *name, const char *labels, const json_t *value)
{
    if (json_is_number(value) || json_is_boolean(value))
        (void)fprintf(out, labels[0] != '\0' ? "outbox_relay_%s{%s} " : "outbox_relay_%s%s ", name,
                      labels);
    if (json_is_real(value))
        (void)fprintf(out, "%.15g\n", json_real_value(value));
    else if (json_is_integer(value))
        (void)fprintf(out, "%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
    else if (json_is_boolean(value))
        (void)fprintf(out, "%d\n", json_is_true(value));
}

/* The field of this name, of which so many bytes count. */
static json_t *field_of(const json_t *object, const char *name, size_t len)
{
    char field[64];

    (void)snprintf(field, sizeof field, "%.*s", (int)len, name);
    return json_object_get(object, field);
}

/* Appends the labels that are fields of this object or, without one, the name of a value. Neither
 * needs escaping: config/ takes for sinks letters, digits, "_" and "-". */
static void add_labels(char *to, const char *from, const char *labels, const json_t *object,
                       const char *name)
{
    size_t len = (size_t)snprintf(to, LABELS_BYTES, "%s", from);

    for (const char *at = labels; *at != '\0'; at += strspn(at, " ")) {
        size_t label = strcspn(at, "=");
        size_t field = strcspn(at + label + 1, " ");
        const char *value = object != NULL
                                ? json_string_value(field_of(object, at + label + 1, field))
                            : at[label + 1] == '*' ? name
                                                   : NULL;

        if (value != NULL && len < LABELS_BYTES)
            len += (size_t)snprintf(to + len, LABELS_BYTES - len, "%s%.*s=\"%s\"",
                                    len > 0 ? "," : "", (int)label, at, value);
        at += label + 1 + field;
    }
}

/* Goes down the path, and puts each value where it ends. */
static void walk(FILE *out, const struct metric *metric, const json_t *at, const char *path,
                 const char *labels)
{
    size_t len = strcspn(path, ".[");
    char more[LABELS_BYTES];
    const char *name;
    json_t *value;

    if (*path == '\0') {
        put_value(out, metric->name, labels, at);
    } else if (*path == '[') {
        for (size_t i = 0; i < json_array_size(at); i++) {
            value = json_array_get(at, i);
            add_labels(more, labels, metric->labels, value, NULL);
            walk(out, metric, value, path + strlen("[]."), more);
        }
    } else if (*path == '*') {
        json_object_foreach ((json_t *)at, name, value) {
            add_labels(more, labels, metric->labels, NULL, name);
            walk(out, metric, value, path + 1, more);
        }
    } else {
        walk(out, metric, field_of(at, path, len), path + len + (path[len] == '.'), labels);
    }
}

/* A path that only names fields. */
static bool leads_to_zero(const json_t *document, const char *path)
{
    const json_t *value = json_object_get(document, path);

    return json_is_number(value) && json_number_value(value) == 0;
}

static void put_metric(FILE *out, const struct metric *metric, const json_t *document)
{
    char *text = NULL;
    size_t size = 0;
    FILE *values = open_memstream(&text, &size);

    if (values == NULL)
        return;
    if (leads_to_zero(document, metric->zero))
        put_value(values, metric->name, "", json_false());
    else
        walk(values, metric, document, metric->path, "");
    if (fclose(values) == 0 && size > 0) {
        describe(out, metric->name, metric->type, metric->help);
        (void)fputs(text, out);
    }
    free(text);
}

/* `unit` converts a stored value into a shown one: 1e-6 makes seconds of microseconds. */
static void put_histogram(FILE *out, const char *name, const char *help,
                          const struct histogram_sum *sum, double unit)
{
    uint64_t count = 0;

    describe(out, name, "histogram", help);
    if (sum->scale == NULL)
        return;
    for (int i = 0; i < sum->scale->count; i++) {
        count += sum->counts[i];
        (void)fprintf(out, "outbox_relay_%s_bucket{le=\"%.15g\"} %" PRIu64 "\n", name,
                      (double)sum->scale->bounds[i] * unit, count);
    }
    count += sum->counts[sum->scale->count];
    (void)fprintf(out,
                  "outbox_relay_%s_bucket{le=\"+Inf\"} %" PRIu64 "\noutbox_relay_%s_sum %.15g\n"
                  "outbox_relay_%s_count %" PRIu64 "\n",
                  name, count, name, (double)sum->sum * unit, name, count);
}

static void put_times(FILE *out, const struct relay_report *report)
{
    const double microsecond = 1e-6;

    put_histogram(out, "claim_duration_seconds", "Time of a claim that found rows.",
                  &report->times[REPORT_CLAIM], microsecond);
    put_histogram(out, "publish_duration_seconds",
                  "Time to publish a batch, until its last acknowledgement.",
                  &report->times[REPORT_PUBLISH], microsecond);
    put_histogram(out, "settle_duration_seconds", "Time to settle a batch, until its COMMIT.",
                  &report->times[REPORT_SETTLE], microsecond);
    put_histogram(out, "delivery_duration_seconds",
                  "Age of a row, from its created_at, when the broker has acknowledged its batch.",
                  &report->times[REPORT_DELIVER], microsecond);
    put_histogram(out, "batch_rows", "Rows a batch.", &report->times[REPORT_BATCH], 1);
}

void metrics_put(FILE *out, const json_t *document, const struct relay_report *report)
{
    for (const struct metric *metric = embedded_metrics; metric->name != NULL; metric++)
        put_metric(out, metric, document);
    put_times(out, report);
}
