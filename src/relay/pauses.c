#include "relay/pauses.h"

#include "base/log.h"
#include "source/pauses.h"

#include <stdlib.h>
#include <string.h>

enum pause_kind { PAUSE_TOPIC, PAUSE_KEY };

struct pause {
    enum pause_kind kind;
    struct match match; /* of a topic */
    struct text line;   /* within pauses->text: "paused topic shop.>" */
    struct text name;   /* "shop.>" */
};

static bool begins_with(struct text text, const char *word)
{
    size_t len = strlen(word);

    return text.len >= len && memcmp(text.data, word, len) == 0;
}

static struct text behind(struct text text, const char *word)
{
    return (struct text){text.data + strlen(word), text.len - strlen(word)};
}

/* A pattern that `pause` would have refused pauses nothing. */
static int add(struct pauses *pauses, struct text line)
{
    struct pause *pause = &pauses->entries[pauses->count];
    char why[128];
    char *pattern;
    int parsed;

    *pause = (struct pause){.kind = PAUSE_KEY, .line = line};
    if (begins_with(line, "paused key ")) {
        pause->name = behind(line, "paused key ");
        pauses->count++;
        return 0;
    }
    if (!begins_with(line, "paused topic "))
        return 0;
    pause->kind = PAUSE_TOPIC;
    pause->name = behind(line, "paused topic ");
    pattern = strndup(pause->name.data, pause->name.len);
    if (pattern == NULL)
        return -1;
    parsed = match_parse(&pause->match, pattern, why, sizeof why);
    free(pattern);
    if (parsed < 0)
        log_error("the pause of topic \"%.*s\" is ignored: %s", (int)pause->name.len,
                  pause->name.data, why);
    else
        pauses->count++;
    return 0;
}

/* Takes the next line from `*at` and moves `*at` behind it. False: there is none. */
static bool next_line(const char **at, struct text *line)
{
    size_t len = strcspn(*at, "\n");

    if (**at == '\0')
        return false;
    *line = (struct text){*at, len};
    *at += len + ((*at)[len] == '\n');
    return true;
}

int pauses_read(struct pauses *pauses, const char *text)
{
    const char *at;
    struct text line;
    int lines = 1;

    if (text == NULL ? pauses->text == NULL
                     : pauses->text != NULL && strcmp(pauses->text, text) == 0)
        return 0;
    pauses_free(pauses);
    if (text == NULL)
        return 1;
    for (at = text; *at != '\0'; at++)
        lines += *at == '\n';
    pauses->text = strdup(text);
    pauses->entries = calloc((size_t)lines, sizeof *pauses->entries);
    at = pauses->text;
    while (at != NULL && pauses->entries != NULL && next_line(&at, &line))
        if (add(pauses, line) < 0)
            at = NULL;
    if (at != NULL && pauses->entries != NULL)
        return 1;
    pauses_free(pauses);
    return -1;
}

void pauses_free(struct pauses *pauses)
{
    for (int i = 0; i < pauses->count; i++)
        if (pauses->entries[i].kind == PAUSE_TOPIC)
            match_free(&pauses->entries[i].match);
    free(pauses->entries);
    free(pauses->text);
    *pauses = (struct pauses){0};
}

uint64_t pauses_sinks(const struct pauses *pauses, const struct relay_options *options)
{
    const char *at = pauses->text;
    struct text line;
    uint64_t sinks = 0;

    while (at != NULL && next_line(&at, &line)) {
        if (!begins_with(line, "paused sink "))
            continue;
        for (int i = 0; i < options->sink_count; i++)
            if (text_equal(behind(line, "paused sink "), text_of(options->sinks[i].name)))
                sinks |= UINT64_C(1) << i;
    }
    return sinks;
}

static bool is_paused(const struct pause *pause, const struct message *message)
{
    if (pause->kind == PAUSE_TOPIC)
        return message->topic.data != NULL && match_topic(&pause->match, message->topic);
    return message->key.data != NULL && text_equal(message->key, pause->name);
}

static void hold(const struct pause *pause, struct batch *batch, struct message *message)
{
    struct text what = behind(pause->line, PAUSED_PREFIX);
    struct text waits_for = batch_copy(batch, pause->line.data, pause->line.len);

    batch_refuse(batch, message, VERDICT_PAUSED, "paused: %.*s", (int)what.len, what.data);
    if (waits_for.data != NULL) /* else resume does not find the row, which waits until it is due */
        message->waits_for = waits_for;
}

void pauses_hold(const struct pauses *pauses, struct batch *batch, uint64_t away)
{
    for (int i = 0; i < batch->count && pauses->count > 0; i++) {
        struct message *message = &batch->messages[i];

        if (message->verdict != VERDICT_PENDING || message->sink < 0 ||
            (away >> message->sink & 1) != 0)
            continue;
        for (int pause = 0; pause < pauses->count; pause++) {
            if (!is_paused(&pauses->entries[pause], message))
                continue;
            hold(&pauses->entries[pause], batch, message);
            break;
        }
    }
}

void pauses_log(const struct pauses *pauses)
{
    const char *at = pauses->text;
    struct text line;

    if (at == NULL)
        log_info("nothing is paused any more");
    while (at != NULL && next_line(&at, &line)) {
        line = behind(line, PAUSED_PREFIX);
        log_info("paused: %.*s", (int)line.len, line.data);
    }
}
