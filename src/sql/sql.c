#include "sql/sql.h"

#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX 128

/* What a text is rendered with. */
struct frame {
    const struct sql_words *words;
    const char *argument; /* of the word whose text it is */
    int indent;           /* of the line that the word is on */
};

struct found {
    const struct sql_word *word; /* NULL: there is none */
    const struct sql_words *words;
};

const char *sql_body(const char *statement)
{
    while (strncmp(statement, "--", 2) == 0)
        statement = strchr(statement, '\n') + 1;
    return statement;
}

bool sql_is_own_name(const char *name)
{
    char word[WORD_BYTES_MAX + 2];

    return snprintf(word, sizeof word, " %s ", name) < (int)sizeof word &&
           strchr(name, ' ') == NULL && strstr(sql_own_names, word) != NULL;
}

void sql_put_literal(FILE *out, const char *text)
{
    (void)fputs("E'", out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            (void)fputc(*text, out);
        (void)fputc(*text, out);
    }
    (void)fputc('\'', out);
}

static struct found find(const struct sql_words *words, const char *name)
{
    for (; words != NULL; words = words->more)
        for (const struct sql_word *word = words->list; word->name != NULL; word++)
            if (strcmp(word->name, name) == 0)
                return (struct found){word, words};
    return (struct found){0};
}

/* The length of the word that begins here, with its braces; 0: there is none. */
static size_t length_of_word(const char *text)
{
    size_t name = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
    const char *end = text + 1 + name;

    if (name == 0 || (*end != '}' && *end != ':'))
        return 0;
    end = strchr(end, '}');
    return end != NULL && (size_t)(end - text) < WORD_BYTES_MAX ? (size_t)(end - text) + 1 : 0;
}

static int put_text(FILE *out, const char *text, const struct frame *frame);

/* `word` is what stands between the braces. */
static int put_word(FILE *out, char *word, const struct frame *frame, int indent)
{
    char *argument = strchr(word, ':');
    struct found found;
    const char *text;

    if (argument != NULL)
        *argument++ = '\0';
    if (strcmp(word, "argument") == 0)
        return fputs(frame->argument, out) < 0 ? -1 : 0;
    found = find(frame->words, word);
    if (found.word == NULL)
        return fprintf(out, "{%s}", word) < 0 ? -1 : 0;
    if (argument == NULL)
        argument = "";
    if (found.word->put != NULL)
        return found.word->put(out, &(struct sql_call){found.words->about, word, argument});
    text = found.word->text != NULL ? found.word->text : found.word->choose(found.words->about);
    return put_text(out, text, &(struct frame){found.words, argument, indent});
}

/* A text that stands for a word is indented as the line of the word. Only the text's own lines are:
 * a value of a word may have line breaks that count. */
static int put_text(FILE *out, const char *text, const struct frame *frame)
{
    int indent = frame->indent;
    bool at_start = false; /* of a line */

    for (text = sql_body(text); *text != '\0';) {
        size_t len = *text == '{' ? length_of_word(text) : 0;

        if (len > 0) {
            char word[WORD_BYTES_MAX];

            (void)snprintf(word, sizeof word, "%.*s", (int)len - 2, text + 1);
            if (put_word(out, word, frame, indent) < 0)
                return -1;
            at_start = false;
            text += len;
            continue;
        }
        if (*text == '\n' && text[1] == '\0')
            break;
        (void)fputc(*text, out);
        if (*text == '\n') {
            at_start = true;
            indent = frame->indent;
            (void)fprintf(out, "%*s", frame->indent, "");
        } else if (at_start && *text == ' ') {
            indent++;
        } else {
            at_start = false;
        }
        text++;
    }
    return 0;
}

int sql_put(FILE *out, const char *statement, const struct sql_words *words)
{
    return put_text(out, statement, &(struct frame){words, "", 0});
}

char *sql_render(const char *statement, const struct sql_words *words)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int status;

    if (out == NULL)
        return NULL;
    status = sql_put(out, statement, words);
    if (fclose(out) == 0 && status == 0)
        return text;
    free(text);
    return NULL;
}
