/* sql: the statements that relays and commands send. */
#include "cli/cli.h"

#include "source/admin.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

struct printing {
    const char *name; /* of the statement that is asked for; NULL: all of them */
    bool list;
    bool found;
};

/* Up to the end of the comment's first sentence, on one line. */
static void print_summary(const char *name, const char *comment, size_t len, const char *sql)
{
    const char *end = comment + len;

    (void)printf("%-20s ", name);
    if (len == 0)
        (void)printf("%s", sql);
    for (const char *at = comment + (len > 0 ? 3 : 0); at < end; at++) {
        if (*at == '.' && (at[1] == ' ' || at[1] == '\n'))
            break;
        if (*at != '\n') {
            (void)putchar(*at);
            continue;
        }
        (void)putchar(' ');
        at += 3; /* "-- " */
    }
    (void)putchar('\n');
}

static void print(void *closure, const char *name, const char *comment, size_t comment_len,
                  const char *sql)
{
    struct printing *printing = closure;

    if (printing->name != NULL && strcmp(printing->name, name) != 0)
        return;
    printing->found = true;
    if (printing->list) {
        print_summary(name, comment, comment_len, sql);
        return;
    }
    if (printing->name == NULL)
        (void)printf("-- %s\n", name);
    (void)printf("%.*s%s;\n%s", (int)comment_len, comment, sql, printing->name == NULL ? "\n" : "");
}

enum exit_status cli_sql(const struct arguments *arguments, struct config *config)
{
    struct printing printing = {
        .name = arguments->operand_count > 0 ? arguments->operands[0] : NULL,
        .list = arguments->list,
    };
    const struct admin_statement_reader reader = {print, &printing};
    struct error error;
    struct admin *admin = admin_open(&config->relay.outbox, &error);
    int status =
        admin != NULL ? admin_read_statements(admin, &config->relay.routes, &reader, &error) : -1;

    admin_close(admin);
    if (status < 0)
        return cli_fail(&error);
    if (printing.found)
        return EXIT_DONE;
    (void)error_set(&error, ERROR_PERMANENT, ERROR_CONFIG, "there is no statement \"%s\"",
                    printing.name);
    (void)error_hint(&error, "%s sql --list", source_program);
    return cli_fail(&error);
}
