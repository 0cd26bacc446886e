/* What the commands share. */
#include "mysql/cli/commands.h"

#include "cli/terminal.h"
#include "source/json.h"

#include <stdlib.h>
#include <string.h>

const char *command_given(const struct arguments *arguments, const char *name)
{
    for (int i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].name, name) == 0)
            return arguments->given[i].value;
    return NULL;
}

void command_print_json(const json_t *object)
{
    char *text = status_dump(object);

    if (text != NULL)
        terminal_print_json(text_of(text));
    free(text);
}
