#include "cli/dead.h"

#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CELL_BYTES_MAX 256
#define NAME_WIDTH 14

void dead_print_json(void *closure, const struct parked_value *values, int count)
{
    (void)closure;
    (void)count;
    terminal_print_json(values[0].value);
}

static int width_of(const char *name)
{
    static const struct {
        const char *name;
        int width;
    } widths[] = {{"id", 8},   {"state", 20}, {"event_id", 36}, {"topic", 20},
                  {"key", 12}, {"type", 16},  {"attempts", 8},  {"error", 0}};

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (strcmp(widths[i].name, name) == 0)
            return widths[i].width;
    return 0;
}

/* A terminal counts characters where printf counts bytes. */
static void pad(const char *text, int width)
{
    for (; *text != '\0'; text++)
        width -= ((unsigned char)*text & 0xC0U) != 0x80U;
    (void)printf("%*s", width > 0 ? width : 0, "");
}

static void print_cell(const char *text, const char *name, bool last, bool aligned)
{
    (void)printf("%s", text);
    if (aligned && !last)
        pad(text, width_of(name));
    (void)printf("%s", last ? "\n" : aligned ? "  " : "\t");
}

void dead_print_line(void *closure, const struct parked_value *values, int count)
{
    int *printed = closure;
    bool aligned = isatty(STDOUT_FILENO) == 1;

    for (int i = 0; i < count && aligned && *printed == 0; i++)
        print_cell(values[i].name, values[i].name, i + 1 == count, true);
    *printed = 1;
    for (int i = 0; i < count; i++) {
        char safe[CELL_BYTES_MAX];
        struct text value = values[i].value;

        if (value.data == NULL)
            value = text_of("-");
        print_cell(terminal_text(safe, sizeof safe, value, false), values[i].name, i + 1 == count,
                   aligned);
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
    }
    print_payload(values[count - 2].value, values[count - 1].value);
}
