#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

static bool is_printable(struct text text, bool lines)
{
    for (size_t at = 0; at < text.len;) {
        unsigned char byte = (unsigned char)text.data[at];
        size_t step = text_utf8_len(text.data + at, text.len - at);
        bool c1 = step == 2 && byte == 0xC2 && (unsigned char)text.data[at + 1] < 0xA0;
        bool control = byte < 0x20 && !(lines && (byte == '\n' || byte == '\t'));

        if (step == 0 || c1 || control || byte == 0x7F)
            return false;
        at += step;
    }
    return true;
}

/* Text that is printable is UTF-8, so a character begins at most three bytes before. */
static size_t cut(struct text text, size_t len)
{
    while (len > 0 && ((unsigned char)text.data[len] & 0xC0U) == 0x80U)
        len--;
    return len;
}

char *terminal_text(char *out, size_t size, struct text text, bool lines)
{
    size_t len;

    if (!is_printable(text, lines))
        return text_escape(out, size, text.data, text.len);
    len = text.len < size ? text.len : cut(text, size - sizeof "...");
    memcpy(out, text.data, len);
    (void)snprintf(out + len, size - len, "%s", text.len < size ? "" : "...");
    return out;
}

void terminal_print_json(struct text json)
{
    for (size_t at = 0; at < json.len; at++) {
        unsigned char byte = (unsigned char)json.data[at];

        if (byte == 0x7F)
            (void)printf("\\u007f");
        else if (byte == 0xC2 && at + 1 < json.len && (unsigned char)json.data[at + 1] < 0xA0)
            (void)printf("\\u%04x", (unsigned char)json.data[++at]);
        else
            (void)putchar(byte);
    }
    (void)putchar('\n');
}
