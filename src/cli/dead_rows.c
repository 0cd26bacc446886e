#include "cli/dead.h"

#include "cli/terminal.h"
#include "message/remedy.h"

#include <stdio.h>
#include <string.h>

#define CELL_BYTES_MAX 1024
#define NAME_WIDTH 14

void dead_print_json(void *closure, const struct parked_value *values, int count)
{
    (void)closure;
    (void)count;
    terminal_print_json(values[0].value);
}

static const char *value_named(const struct parked_value *values, int count, const char *name,
                               char *out, size_t size)
{
    for (int i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0 && values[i].value.data != NULL)
            return terminal_text(out, size, values[i].value, false);
    return "-";
}

/* NULL when there is none to name. */
static const char *fix_for(const struct parked_value *values, int count)
{
    char error[CELL_BYTES_MAX];

    return remedy_for(value_named(values, count, "error", error, sizeof error));
}

static void put_cell(const char *text, int width, bool cut)
{
    char fitted[CELL_BYTES_MAX];

    if (cut)
        text = terminal_fit(fitted, sizeof fitted, text, width);
    width -= terminal_width(text);
    (void)printf("%s%*s  ", text, width > 0 ? width : 0, "");
}

/* A row that has columns of its own, and below it its error; an id is never cut, as the other
 * verbs want it. `dead show` and --json have the rest. */
static void print_on_terminal(const struct parked_value *values, int count, bool heading)
{
    enum { ID = 8, STATE = 27, ATTEMPTS = sizeof "attempts" - 1, GAPS = 8 };
    int columns = terminal_columns();
    int room = (columns > 80 ? columns : 80) - ID - STATE - ATTEMPTS - GAPS;
    const struct {
        const char *name;
        int width;
    } cells[] = {{"id", ID}, {"state", STATE}, {"topic", room - room / 3}, {"key", room / 3}};
    char text[CELL_BYTES_MAX];
    char fitted[CELL_BYTES_MAX];
    const char *fix = fix_for(values, count);

    for (size_t i = 0; heading && i < sizeof cells / sizeof *cells; i++)
        put_cell(cells[i].name, cells[i].width, false);
    (void)printf("%s", heading ? "attempts\n" : "");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        put_cell(value_named(values, count, cells[i].name, text, sizeof text), cells[i].width,
                 i > 0);
    (void)printf("%s\n", value_named(values, count, "attempts", text, sizeof text));
    (void)printf("    %s\n",
                 terminal_fit(fitted, sizeof fitted,
                              value_named(values, count, "error", text, sizeof text), columns - 4));
    if (fix != NULL)
        (void)printf("    fix: %s\n", fix);
}

void dead_print_line(void *closure, const struct parked_value *values, int count)
{
    int *printed = closure;

    if (terminal_columns() > 0) {
        print_on_terminal(values, count, *printed == 0);
        *printed = 1;
        return;
    }
    for (int i = 0; i < count; i++) {
        char safe[256];
        struct text value = values[i].value;

        if (value.data == NULL)
            value = text_of("-");
        (void)printf("%s%s", terminal_text(safe, sizeof safe, value, false),
                     i + 1 == count ? "\n" : "\t");
    }
}

/* The longest beginning of at most PARKED_PAYLOAD_MAX bytes that cuts no character in two. */
static struct text cut(struct text text)
{
    size_t len = PARKED_PAYLOAD_MAX;

    if (text.len <= len)
        return text;
    while (len > PARKED_PAYLOAD_MAX - 3 && ((unsigned char)text.data[len] & 0xC0U) == 0x80U)
        len--;
    return (struct text){text.data, len};
}

static bool is_number(struct text text, size_t number)
{
    char decimal[32];
    int len = snprintf(decimal, sizeof decimal, "%zu", number);

    return text.len == (size_t)len && memcmp(text.data, decimal, text.len) == 0;
}

static void print_payload(struct text bytes, struct text payload)
{
    char safe[4 * PARKED_PAYLOAD_MAX + 1];
    struct text shown;

    if (bytes.data == NULL || payload.data == NULL) {
        (void)printf("%-*s(null)\n", NAME_WIDTH, "payload");
        return;
    }
    shown = cut(payload);
    (void)printf("%-*s%.*s bytes", NAME_WIDTH, "payload", (int)bytes.len, bytes.data);
    if (!is_number(bytes, shown.len))
        (void)printf(", the first %zu of them (--json: all)", shown.len);
    (void)printf("\n%s\n", terminal_text(safe, sizeof safe, shown, true));
}

void dead_print_whole(void *closure, const struct parked_value *values, int count)
{
    char safe[PARKED_PAYLOAD_MAX + 1];
    const char *fix = fix_for(values, count);
    int *printed = closure;

    if (*printed != 0)
        (void)putchar('\n');
    *printed = 1;
    for (int i = 0; i + 2 < count; i++) {
        struct text value = values[i].value;

        if (value.data == NULL)
            value = text_of("(null)");
        (void)printf("%-*s%s\n", NAME_WIDTH, values[i].name,
                     terminal_text(safe, sizeof safe, value, false));
        if (strcmp(values[i].name, "error") == 0 && fix != NULL)
            (void)printf("%-*s%s\n", NAME_WIDTH, "fix", fix);
    }
    print_payload(values[count - 2].value, values[count - 1].value);
}
