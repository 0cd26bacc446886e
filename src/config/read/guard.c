#include "config/read/toml.h"

#include "base/text.h"
#include "config/read/file.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 32

static int refuse(struct toml_error *error, int line, int column, const char *text)
{
    error->line = line;
    error->column = column;
    (void)snprintf(error->text, sizeof error->text, "%s", text);
    return -1;
}

/* Counts columns in characters, not in bytes, like the parser. */
static int refuse_at(struct toml_error *error, const char *text, const char *at, const char *what)
{
    int line = 1;
    int column = 1;

    for (const char *c = text; c < at; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xC0U) != 0x80U) {
            column++;
        }
    }
    return refuse(error, line, column, what);
}

static int check_bytes(const char *text, size_t len, struct toml_error *error)
{
    for (size_t at = 0; at < len;) {
        size_t step = text_utf8_len(text + at, len - at);

        if (text[at] == '\0')
            return refuse_at(error, text, text + at, "a NUL byte: this is not a text file");
        if (step == 0)
            return refuse_at(error, text, text + at, "invalid UTF-8");
        at += step;
    }
    return 0;
}

struct scan {
    const char *at;
    const char *end;
};

static bool is_quote_run(const struct scan *scan, char quote)
{
    return scan->end - scan->at >= 3 && scan->at[0] == quote && scan->at[1] == quote &&
           scan->at[2] == quote;
}

/* What follows a malformed string does not matter, because the parser stops there too. */
static void skip_string(struct scan *scan)
{
    char quote = *scan->at;
    bool multi_line = is_quote_run(scan, quote);

    scan->at += multi_line ? 3 : 1;
    while (scan->at < scan->end && (multi_line || *scan->at != '\n')) {
        if (*scan->at == '\\' && quote == '"') {
            scan->at += scan->at + 1 < scan->end ? 2 : 1;
        } else if (multi_line && is_quote_run(scan, quote)) {
            /* It may end in one or two quotes, followed by the three closing ones. */
            for (int i = 0; i < 5 && scan->at < scan->end && *scan->at == quote; i++)
                scan->at++;
            return;
        } else if (*scan->at++ == quote && !multi_line) {
            return;
        }
    }
}

struct nesting {
    int brackets;
    int dots; /* dots of the current key, whose parts are nested tables */
};

static void count_nesting(struct nesting *nesting, char c)
{
    if (c == '[' || c == '{')
        nesting->brackets++;
    else if ((c == ']' || c == '}') && nesting->brackets > 0)
        nesting->brackets--;
    else if (c == '.')
        nesting->dots++;
    else if (c == '=' || c == ',' || c == '\n')
        nesting->dots = 0;
}

static int check_nesting(const char *text, size_t len, struct toml_error *error)
{
    struct scan scan = {.at = text, .end = text + len};
    struct nesting nesting = {0};

    while (scan.at < scan.end) {
        if (*scan.at == '"' || *scan.at == '\'')
            skip_string(&scan);
        else if (*scan.at == '#')
            while (scan.at < scan.end && *scan.at != '\n')
                scan.at++;
        else
            count_nesting(&nesting, *scan.at++);
        if (nesting.brackets > DEPTH_MAX || nesting.dots > DEPTH_MAX)
            return refuse_at(error, text, scan.at - 1, "nested deeper than 32 levels");
    }
    return 0;
}

int guard_text(const char *text, size_t len, struct toml_error *error)
{
    if (len > CONFIG_FILE_BYTES_MAX)
        return refuse(error, 0, 0, "file larger than 1 MiB");
    if (check_bytes(text, len, error) < 0)
        return -1;
    return check_nesting(text, len, error);
}
