#include "sql/sql.h"

#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 128

/* What has been written of a text. */
struct rendering {
    FILE *out;
    int indent;   /* of the line on which a file was put in: that of the file's other lines */
    int newlines; /* they and the spaces are written before anything else */
    int pending;  /* spaces that the line begins with */
    bool blank;   /* the line has nothing but spaces so far */
    bool failed;  /* no memory for a value, or an {if} or {end} alone */
};

const char *sql_body(const char *statement)
{
    while (strncmp(statement, "--", 2) == 0)
        statement = strchr(statement, '\n') + 1;
    return statement;
}

bool sql_is_own_name(const char *name)
{
    char word[NAME_BYTES_MAX];

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

/* ---- facts ---- */

int sql_truth(const struct sql_truth *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].is;
    return -1;
}

static const struct sql_fact *find_in(const struct sql_fact *list, const char *name, size_t len)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strlen(list->name) == len && memcmp(list->name, name, len) == 0)
            return list;
    return NULL;
}

static const struct sql_fact *find(const struct sql_facts **facts, const char *name, size_t len)
{
    for (; *facts != NULL; *facts = (*facts)->more) {
        const struct sql_fact *fact = find_in((*facts)->list, name, len);

        if (fact != NULL)
            return fact;
    }
    return NULL;
}

static bool has_name(const char *names, const char *name, size_t len)
{
    for (size_t next; *names != '\0'; names += next + (names[next] == ' ')) {
        next = strcspn(names, " ");
        if (next == len && memcmp(names, name, len) == 0)
            return true;
    }
    return false;
}

static bool is_true(const struct sql_facts *facts, const char *name, size_t len)
{
    bool is_negated = *name == '!';
    char word[NAME_BYTES_MAX];
    bool is = false;
    int of_level = -1; /* -1: no level so far knows the fact */

    name += is_negated;
    len -= is_negated;
    (void)snprintf(word, sizeof word, "%.*s", (int)len, name);
    for (const struct sql_facts *at = facts; at != NULL && !is; at = at->more)
        is = at->names != NULL && has_name(at->names, name, len);
    for (; !is && facts != NULL && of_level < 0; facts = facts->more) {
        of_level = facts->is != NULL ? facts->is(facts->about, word) : -1;
        if (of_level < 0 && find_in(facts->list, name, len) != NULL)
            of_level = 1;
    }
    return (is || of_level > 0) != is_negated;
}

bool sql_holds(const char *condition, const struct sql_facts *facts)
{
    for (size_t len; *condition != '\0'; condition += len + (condition[len] == ' ')) {
        len = strcspn(condition, " ");
        if (!is_true(facts, condition, len))
            return false;
    }
    return true;
}

bool sql_names(const char *names, const char *name)
{
    return has_name(names, name, strlen(name));
}

/* ---- texts ---- */

static void put_spaces(struct rendering *rendering)
{
    for (; rendering->newlines > 0; rendering->newlines--)
        (void)fputc('\n', rendering->out);
    if (rendering->blank)
        (void)fprintf(rendering->out, "%*s", rendering->pending, "");
    rendering->blank = false;
}

static void put_char(struct rendering *rendering, char c, bool is_shown)
{
    if (c == '\n') {
        rendering->newlines += is_shown;
        rendering->pending = rendering->indent;
        rendering->blank = true;
    } else if (c == ' ' && rendering->blank) {
        rendering->pending++;
    } else if (is_shown) {
        put_spaces(rendering);
        (void)fputc(c, rendering->out);
    } else {
        rendering->blank = false;
    }
}

/* The length of what stands in braces here, with them; 0: nothing does. */
static size_t length_of_braces(const char *text)
{
    size_t len = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_!$ ") : 0;

    return len > 0 && text[1] != ' ' && text[len + 1] == '}' ? len + 2 : 0;
}

static bool is_at(const char *text, const char *braces)
{
    return strncmp(text, braces, strlen(braces)) == 0;
}

/* Goes on behind the braces of a variant. They leave nothing of a line that they are alone on. */
static const char *pass(struct rendering *rendering, const char *text, size_t len, bool is_alone)
{
    if (!is_alone || !rendering->blank || text[len] != '\n')
        return text + len;
    rendering->pending = rendering->indent;
    return text + len + 1;
}

static const char *put_block(struct rendering *rendering, const char *text, bool is_shown,
                             const struct sql_facts *facts);

/* The newline in front of an {end} that is the file's last line is left out, too. */
static void put_file(struct rendering *rendering, const char *text, const struct sql_facts *facts)
{
    int indent = rendering->indent;

    rendering->indent = rendering->pending;
    (void)put_block(rendering, sql_body(text), true, facts);
    if (rendering->blank && rendering->newlines > 0) {
        rendering->newlines--;
        rendering->blank = false;
    }
    rendering->indent = indent;
}

/* `name` is what stands between the braces. What is no fact is left as it is, such as '{}'. */
static void put_name(struct rendering *rendering, const char *name, size_t len,
                     const struct sql_facts *facts)
{
    const struct sql_facts *of = facts;
    const struct sql_fact *fact = find(&of, name, len);

    for (const struct sql_shared *shared = sql_shared; fact == NULL && shared->name != NULL;
         shared++)
        if (strlen(shared->name) == len && memcmp(shared->name, name, len) == 0) {
            put_file(rendering, shared->text, facts);
            return;
        }
    put_spaces(rendering);
    if (*name == '$' && facts->put_param != NULL)
        rendering->failed |= facts->put_param(rendering->out, facts->about, name + 1, len - 1) < 0;
    else if (fact != NULL && fact->put != NULL)
        rendering->failed |= fact->put(rendering->out, of->about) < 0;
    else if (fact != NULL && fact->put_named != NULL)
        rendering->failed |= fact->put_named(rendering->out, of->about, fact) < 0;
    else if (fact != NULL && fact->text != NULL)
        (void)fputs(fact->text, rendering->out);
    else
        (void)fprintf(rendering->out, "{%.*s}", (int)len, name);
}

/* `text` is at an {if}. Returns what comes behind its {end}. */
static const char *put_variant(struct rendering *rendering, const char *text, bool is_shown,
                               const struct sql_facts *facts)
{
    size_t len = length_of_braces(text);
    bool is_so = is_true(facts, text + 4, len - 5);
    bool is_alone = rendering->blank && text[len] == '\n';

    text = pass(rendering, text, len, is_alone);
    text = put_block(rendering, text, is_shown && is_so, facts);
    if (is_at(text, "{else}")) {
        text = pass(rendering, text, 6, is_alone);
        text = put_block(rendering, text, is_shown && !is_so, facts);
    }
    if (is_at(text, "{end}"))
        return pass(rendering, text, 5, is_alone);
    rendering->failed = true;
    return text;
}

/* Up to {else}, {end} or the end of the text, which it returns. The newline at the end of a file is
 * left out. */
static const char *put_block(struct rendering *rendering, const char *text, bool is_shown,
                             const struct sql_facts *facts)
{
    while (*text != '\0' && strcmp(text, "\n") != 0 && !is_at(text, "{else}") &&
           !is_at(text, "{end}")) {
        size_t len = length_of_braces(text);

        if (len == 0) {
            put_char(rendering, *text++, is_shown);
        } else if (is_at(text, "{if ")) {
            text = put_variant(rendering, text, is_shown, facts);
        } else {
            if (is_shown)
                put_name(rendering, text + 1, len - 2, facts);
            else
                rendering->blank = false;
            text += len;
        }
    }
    return text;
}

char *sql_render(const char *statement, const struct sql_facts *facts)
{
    char *text = NULL;
    size_t len = 0;
    struct rendering rendering = {.out = open_memstream(&text, &len), .blank = true};
    const char *rest;

    if (rendering.out == NULL)
        return NULL;
    rest = put_block(&rendering, sql_body(statement), true, facts);
    rendering.failed |= *rest == '{'; /* a variant's end without its beginning */
    if (fclose(rendering.out) == 0 && !rendering.failed)
        return text;
    free(text);
    return NULL;
}
