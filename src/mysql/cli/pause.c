/* pause and resume. */
#include "mysql/cli/commands.h"

#include "mysql/document.h"
#include "mysql/parked.h"
#include "source/pauses.h"

#include <stdlib.h>
#include <string.h>

/* 0, or -1 with *error set. */
static int check_name(const struct arguments *arguments, const struct relay_options *relay,
                      struct error *error)
{
    const char *what = text_equal(arguments->verb, text_of("sink"))    ? "SINK"
                       : text_equal(arguments->verb, text_of("topic")) ? "PATTERN"
                                                                       : "KEY";
    const char *problem = cli_pause_problem(text_of(what), arguments->operands[0], relay);

    return problem == NULL ? 0 : cli_refuse(arguments->command->name, problem, error);
}

static void name_kind(char kind[32], const struct arguments *arguments)
{
    (void)snprintf(kind, 32, PAUSED_PREFIX "%.*s", (int)arguments->verb.len, arguments->verb.data);
}

static void print(const json_t *pause, bool as_json)
{
    const char *reason = document_text(pause, "reason");

    if (as_json)
        command_print_json(pause);
    else
        (void)printf("%s \"%s\" since %s by %s%s%s\n", document_text(pause, "what"),
                     document_text(pause, "name"), document_text(pause, "since"),
                     document_text(pause, "by"), reason[0] != '\0' ? ": " : "", reason);
}

static int list(struct admin *admin, bool as_json, struct error *error)
{
    json_t *pauses = pause_list(admin, error);
    bool is_read = pauses != NULL;
    size_t at;
    json_t *pause;

    json_array_foreach(pauses, at, pause)
    {
        print(pause, as_json);
    }
    if (is_read && json_array_size(pauses) == 0 && !as_json)
        (void)puts("nothing is paused");
    json_decref(pauses);
    return is_read ? 0 : -1;
}

static int begin(struct admin *admin, const struct arguments *arguments, struct error *error)
{
    char kind[32];
    bool is_new;

    name_kind(kind, arguments);
    if (pause_begin(admin, kind, arguments->operands[0], command_given(arguments, "reason"),
                    &is_new, error) < 0 ||
        pause_wait(admin, error) < 0)
        return -1;
    (void)printf("%.*s \"%s\" is paused%s\n", (int)arguments->verb.len, arguments->verb.data,
                 arguments->operands[0], is_new ? "" : " already");
    return 0;
}

static int end(struct admin *admin, const struct arguments *arguments, struct error *error)
{
    char kind[32];
    bool was_paused;

    name_kind(kind, arguments);
    if (pause_end(admin, kind, arguments->operands[0], &was_paused, error) < 0)
        return -1;
    if (was_paused) {
        (void)printf("%.*s \"%s\" resumed\n", (int)arguments->verb.len, arguments->verb.data,
                     arguments->operands[0]);
        return 0;
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "%.*s \"%s\" is not paused",
                    (int)arguments->verb.len, arguments->verb.data, arguments->operands[0]);
    return error_hint(error, "%s pause lists what is paused", source_program);
}

static enum exit_status run(const struct arguments *arguments, struct config *config, bool ends)
{
    struct admin *admin = NULL;
    struct error error;
    int status = -1;

    if (arguments->operand_count == 0 || check_name(arguments, &config->relay, &error) == 0)
        admin = admin_open(&config->relay.outbox, &error);
    if (admin != NULL)
        status = arguments->operand_count == 0 ? list(admin, arguments->json, &error)
                 : ends                        ? end(admin, arguments, &error)
                                               : begin(admin, arguments, &error);
    admin_close(admin);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}

enum exit_status command_pause(const struct arguments *arguments, struct config *config)
{
    return run(arguments, config, false);
}

enum exit_status command_resume(const struct arguments *arguments, struct config *config)
{
    return run(arguments, config, true);
}
