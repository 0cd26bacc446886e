#include "cli/terminal.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define LINE_BYTES 4096 /* a finding's text, escaped, with its level */
#define DRAW_MS 200
#define LINE_MS 10000

/* The character at `*at` in columns, and steps over it. The escape sequence of a colour takes none.
 */
static int step_over(const char **at)
{
    size_t escape = strncmp(*at, "\033[", 2) == 0 ? strcspn(*at, "m") : 0;
    size_t len = text_utf8_len(*at, strlen(*at));
    int width = len > 0 ? wcwidth((wchar_t)text_utf8_code(*at, len)) : 1;

    if (escape > 0 && (*at)[escape] == 'm') {
        *at += escape + 1;
        return 0;
    }
    *at += len > 0 ? len : 1;
    return width >= 0 ? width : 1;
}

/* wcwidth(3) knows no character beyond ASCII in the locale "C". */
static locale_t enter_utf8(void)
{
    static locale_t utf8;

    if (utf8 == NULL)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    return utf8 != NULL ? uselocale(utf8) : NULL;
}

static void leave_utf8(locale_t before)
{
    if (before != NULL)
        (void)uselocale(before);
}

int terminal_width(const char *text)
{
    locale_t before = enter_utf8();
    int width = 0;

    while (*text != '\0')
        width += step_over(&text);
    leave_utf8(before);
    return width;
}

char *terminal_fit(char *out, size_t size, const char *text, int columns)
{
    static const char mark[] = "...";
    int room = columns - (int)sizeof mark + 1;
    const char *at = text;
    locale_t before;
    size_t len;

    if (terminal_width(text) <= columns && strlen(text) < size) {
        memmove(out, text, strlen(text) + 1);
        return out;
    }
    before = enter_utf8();
    for (len = 0; *at != '\0'; len = (size_t)(at - text)) {
        room -= step_over(&at);
        if (room < 0 || (size_t)(at - text) + sizeof mark > size)
            break;
    }
    leave_utf8(before);
    memmove(out, text, len);
    (void)snprintf(out + len, size - len, "%.*s", columns, mark);
    return out;
}

int terminal_columns(void)
{
    struct winsize window = {0};
    const char *given = getenv("COLUMNS");

    if (isatty(STDOUT_FILENO) != 1)
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col;
    return given != NULL && strtol(given, NULL, 10) > 0 ? (int)strtol(given, NULL, 10) : 80;
}

const char *terminal_colour(int fd, enum terminal_colour colour)
{
    static const char *const sequences[] = {"\033[0m", "\033[32m", "\033[33m", "\033[31m"};
    const char *wish = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (isatty(fd) != 1 || (wish != NULL && wish[0] != '\0') || terminal == NULL ||
        strcmp(terminal, "dumb") == 0)
        return "";
    return sequences[colour];
}

void terminal_print_json(struct text json)
{
    for (size_t at = 0; at < json.len;) {
        const char *data = json.data + at;
        size_t step = text_utf8_len(data, json.len - at);

        if (step > 0 && text_is_control(data, step) && (unsigned char)*data >= ' ')
            (void)printf("\\u%04x", text_utf8_code(data, step));
        else
            (void)fwrite(data, 1, step > 0 ? step : 1, stdout);
        at += step > 0 ? step : 1;
    }
    (void)putchar('\n');
}

json_t *terminal_json(struct text text)
{
    static const char digits[] = "0123456789abcdef";
    bool has_nul = text.data != NULL && memchr(text.data, '\0', text.len) != NULL;
    json_t *string = text.data == NULL ? json_null()
                     : has_nul         ? NULL
                                       : json_stringn(text.data, text.len);
    json_t *object;
    char *hex;

    if (string != NULL)
        return string;
    hex = malloc(2 * text.len + 1);
    if (hex == NULL)
        return NULL;
    for (size_t i = 0; i < text.len; i++) {
        hex[2 * i] = digits[(unsigned char)text.data[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)text.data[i] & 15];
    }
    object = json_pack("{s:s#}", "hex", hex, (int)(2 * text.len));
    free(hex);
    return object;
}

json_t *terminal_json_headers(const struct header *headers, int count)
{
    json_t *object = json_object();
    char name[LINE_BYTES];
    bool is_whole = true;

    for (int i = 0; i < count; i++) {
        (void)text_show(name, sizeof name, headers[i].name, false);
        if (json_object_set_new(object, name, terminal_json(headers[i].value)) < 0)
            is_whole = false;
    }
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}

void terminal_put(FILE *out, const char *name, struct text value)
{
    char safe[LINE_BYTES];

    if (value.data == NULL)
        value = text_of("(null)");
    (void)fprintf(out, "  %-10s %s\n", name, text_show(safe, sizeof safe, value, false));
}

void terminal_put_headers(FILE *out, const struct header *headers, int count)
{
    char name[LINE_BYTES];
    char value[LINE_BYTES];

    for (int i = 0; i < count; i++)
        (void)fprintf(
            out, "  %-10s %s: %s\n", "header", text_show(name, sizeof name, headers[i].name, false),
            headers[i].value.data != NULL ? text_show(value, sizeof value, headers[i].value, false)
                                          : "(null)");
}

void terminal_put_wrapped(FILE *out, int columns, const char *indent, int lines, const char *text)
{
    char rest[LINE_BYTES];
    char piece[LINE_BYTES];

    (void)snprintf(rest, sizeof rest, "%s", text);
    while (columns > 0 && lines > 1 && terminal_width(rest) > columns) {
        size_t len = 0;

        for (size_t end = 0; rest[end] != '\0'; end++) {
            if (rest[end] != ' ')
                continue;
            (void)snprintf(piece, sizeof piece, "%.*s", (int)end, rest);
            if (terminal_width(piece) > columns)
                break;
            if (end > strlen(indent))
                len = end;
        }
        if (len == 0)
            break;
        (void)snprintf(piece, sizeof piece, "%s%s", indent, rest + len + 1);
        while (len > 0 && rest[len - 1] == ' ')
            len--;
        (void)fprintf(out, "%.*s\n", (int)len, rest);
        memcpy(rest, piece, sizeof rest);
        lines--;
    }
    if (columns > 0)
        (void)terminal_fit(rest, sizeof rest, rest, columns);
    (void)fprintf(out, "%s\n", rest);
}

/* ---- progress ---- */

static bool draws(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void progress_begin(struct progress *progress, const char *what, int64_t total)
{
    *progress = (struct progress){.what = what, .total = total, .began_ms = clock_now_ms()};
    progress->shown_ms = progress->began_ms;
}

void progress_show(struct progress *progress, int64_t done, int64_t left_ms)
{
    int64_t now_ms = clock_now_ms();
    char total[32] = "";
    char left[64] = "";

    if (now_ms - progress->shown_ms < (draws() ? DRAW_MS : LINE_MS))
        return;
    progress->shown_ms = now_ms;
    progress->shown++;
    if (left_ms < 0 && progress->total >= done && done > 0)
        left_ms = (now_ms - progress->began_ms) * (progress->total - done) / done;
    if (progress->total >= done)
        (void)snprintf(total, sizeof total, " of %" PRId64, progress->total);
    if (left_ms >= 0)
        (void)snprintf(left, sizeof left, ", about %" PRId64 " s left", (left_ms + 999) / 1000);
    /* The cursor returns to the start of the line, so that a log line overwrites this one. */
    if (draws())
        (void)fprintf(stderr, "%s %" PRId64 "%s%s\033[K\r", progress->what, done, total, left);
    else
        log_info("%s %" PRId64 "%s%s", progress->what, done, total, left);
    (void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown > 0 && draws())
        (void)fprintf(stderr, "\033[K");
}
