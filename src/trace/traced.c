#include "trace/traced.h"

#include "base/clock.h"
#include "message/order.h"

#include <string.h>
#include <strings.h>

struct traced_row {
    struct traced_row *next;
    int index; /* in the batch */
    struct span_parent parent;
    struct text state; /* in the batch, or of length 0 */
    int64_t published_us;
    int64_t acknowledged_us;
};

/* By either of its names: [cloudevents.attributes] make headers "ce_NAME". */
static struct text find_header(const struct message *message, const char *name)
{
    size_t len = strlen(name);

    for (int i = 0; i < message->header_count; i++) {
        struct text has = message->headers[i].name;

        if (has.len == len + 3 && strncasecmp(has.data, "ce_", 3) == 0)
            has = (struct text){has.data + 3, len};
        if (has.len == len && strncasecmp(has.data, name, len) == 0)
            return message->headers[i].value;
    }
    return (struct text){NULL, 0};
}

static void note(struct traced *traced, struct batch *batch, int index)
{
    const struct message *message = &batch->messages[index];
    struct span_parent parent;
    struct traced_row *row;
    struct text state;

    if (!span_read_parent(find_header(message, "traceparent"), &parent))
        return;
    row = batch_alloc(batch, sizeof *row);
    if (row == NULL)
        return;
    state = find_header(message, "tracestate");
    *row = (struct traced_row){.next = traced->rows, .index = index, .parent = parent};
    if (span_takes_state(state))
        row->state = state;
    traced->rows = row;
}

void traced_claim(struct traced *traced, const struct trace *trace, struct batch *batch)
{
    traced->rows = NULL;
    if (!trace_is_on(trace))
        return;
    traced->claimed_us = clock_wall_us();
    for (int i = 0; i < batch->count; i++)
        note(traced, batch, i);
}

void traced_publish(struct traced *traced, const struct batch *batch, int sink)
{
    for (struct traced_row *row = traced->rows; row != NULL; row = row->next)
        if (row->published_us == 0 && order_is_in_wave(batch, &batch->messages[row->index], sink))
            row->published_us = clock_wall_us();
}

void traced_acknowledge(struct traced *traced, const struct batch *batch, int sink)
{
    for (struct traced_row *row = traced->rows; row != NULL; row = row->next) {
        const struct message *message = &batch->messages[row->index];

        if (row->published_us != 0 && row->acknowledged_us == 0 && message->sink == sink &&
            message->verdict == VERDICT_SENT)
            row->acknowledged_us = clock_wall_us();
    }
}

static void make_span(const struct traced *traced, const struct traced_row *row,
                      const struct message *message, const struct sink_options *sinks,
                      struct span *span)
{
    bool is_sent = row->acknowledged_us != 0;

    *span = (struct span){.parent = row->parent,
                          .created_us = message->created_us,
                          .claimed_us = traced->claimed_us,
                          .published_us = row->published_us,
                          .acknowledged_us = row->acknowledged_us,
                          .ended_us = is_sent ? row->acknowledged_us : clock_wall_us(),
                          .attempts = message->attempts + is_sent};
    if (!is_sent) {
        span->failure = message->verdict == VERDICT_REJECTED ? "rejected" : "attempts";
        span_copy(span->reason, sizeof span->reason,
                  text_of(message->reason != NULL ? message->reason : ""));
    }
    if (message->sink >= 0) {
        span->sink = sinks[message->sink].name;
        span->system = sinks[message->sink].type;
    }
    span_copy(span->state, sizeof span->state, row->state);
    span_copy(span->event_id, sizeof span->event_id, message->event_id);
    span_copy(span->row, sizeof span->row, message_row_id(message));
    span_copy(span->topic, sizeof span->topic, message->topic);
    span_copy(span->destination, sizeof span->destination, message->destination);
}

void traced_end(struct traced *traced, struct trace *trace, const struct batch *batch,
                const struct sink_options *sinks, bool settled)
{
    struct span span;

    for (const struct traced_row *row = traced->rows; row != NULL; row = row->next) {
        const struct message *message = &batch->messages[row->index];

        if (row->acknowledged_us == 0 && (!settled || message->outcome != OUTCOME_DEAD))
            continue;
        make_span(traced, row, message, sinks, &span);
        trace_put(trace, &span);
    }
    traced->rows = NULL;
}
