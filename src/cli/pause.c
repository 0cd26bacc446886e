/* pause and resume. */
#include "cli/cli.h"

#include "admin/parked/pause.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "route/match.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 768

struct target {
    enum pause_what what;
    const char *name;
    char shown[SHOWN_BYTES]; /* topic "shop.>", safe for a terminal */
};

/* Only the configuration says which rows belong to a sink, so a sink that it lacks would pause
 * nothing. */
static int check_sink(const char *command, const char *name, const struct relay_options *relay,
                      struct error *error)
{
    char why[1024] = "no sink of this name is configured; the configured ones are:";

    for (int i = 0; i < relay->sink_count; i++) {
        size_t len = strlen(why);

        if (strcmp(relay->sinks[i].name, name) == 0)
            return 0;
        (void)snprintf(why + len, sizeof why - len, " %s", relay->sinks[i].name);
    }
    return cli_refuse(command, why, error);
}

static int check_topic(const char *command, const char *pattern, struct error *error)
{
    struct match match;
    char why[128];

    if (match_parse(&match, pattern, why, sizeof why) < 0)
        return cli_refuse(command, why, error);
    match_free(&match);
    return 0;
}

static int take_target(struct target *target, const char *command,
                       const struct arguments *arguments, const struct config *config,
                       struct error *error)
{
    char safe[SHOWN_BYTES - 32];
    const char *problem;
    int what = PAUSE_SINK;

    if (arguments->operand_count != 2)
        return cli_refuse(command, "give sink NAME, topic PATTERN or key KEY", error);
    while (what <= PAUSE_KEY_VALUE &&
           strcmp(pause_word((enum pause_what)what), arguments->operands[0]) != 0)
        what++;
    if (what > PAUSE_KEY_VALUE)
        return cli_refuse(command, "give sink NAME, topic PATTERN or key KEY", error);
    target->what = (enum pause_what)what;
    target->name = arguments->operands[1];
    problem = pause_name_problem(target->name);
    if (problem != NULL)
        return cli_refuse(command, problem, error);
    (void)snprintf(target->shown, sizeof target->shown, "%s \"%s\"", pause_word(target->what),
                   terminal_text(safe, sizeof safe, text_of(target->name), false));
    if (target->what == PAUSE_SINK)
        return check_sink(command, target->name, &config->relay, error);
    return target->what == PAUSE_TOPIC_PATTERN ? check_topic(command, target->name, error) : 0;
}

/* A batch that was claimed before is published within publish_timeout, or rolled back. */
static int wait_for_claims(struct admin *admin, struct error *error)
{
    int left = admin_wait_for_claims(admin, error);

    if (left <= 0)
        return left;
    return error_set(
        error, ERROR_TRANSIENT, ERROR_SELF,
        "%d transactions that use the parked table are still open: rows that relays had"
        " claimed before may still be published; run the command again to wait for them",
        left);
}

static void print_note(const struct pause_note *note)
{
    char name[SHOWN_BYTES];
    char by[SHOWN_BYTES];
    char reason[SHOWN_BYTES];

    (void)printf("%s \"%s\" since %s by %s%s%s\n", note->what,
                 terminal_text(name, sizeof name, text_of(note->name), false), note->since,
                 terminal_text(by, sizeof by, text_of(note->by), false),
                 note->reason[0] != '\0' ? ": " : "",
                 terminal_text(reason, sizeof reason, text_of(note->reason), false));
}

static void print_note_json(const struct pause_note *note)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s}", "what", note->what, "name", note->name,
                               "since", note->since, "by", note->by, "reason", note->reason);
    char *line = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;

    if (line != NULL)
        terminal_print_json(text_of(line));
    free(line);
    json_decref(object);
}

static enum exit_status list(struct admin *admin, bool json)
{
    struct pause_notes pauses;
    struct error error;

    if (admin_list_pauses(admin, &pauses, &error) < 0)
        return cli_fail(&error);
    if (pauses.count == 0 && !json)
        (void)printf("nothing is paused\n");
    for (int i = 0; i < pauses.count; i++)
        (json ? print_note_json : print_note)(&pauses.items[i]);
    if (pauses.more > 0 && !json)
        (void)printf("and %lld more\n", (long long)pauses.more);
    return EXIT_DONE;
}

enum exit_status cli_pause(const struct arguments *arguments, struct config *config)
{
    struct error error;
    struct target target;
    struct admin *admin;
    enum exit_status status = EXIT_DONE;
    int paused;

    if (arguments->operand_count > 0 &&
        take_target(&target, "pause", arguments, config, &error) < 0)
        return cli_fail(&error);
    admin = arguments->operand_count > 0 ? admin_open_to_write(&config->relay.outbox, &error)
                                         : admin_open(&config->relay.outbox, &error);
    if (admin == NULL)
        return cli_fail(&error);
    if (arguments->operand_count == 0) {
        status = list(admin, arguments->json);
        admin_close(admin);
        return status;
    }
    paused = admin_pause(admin, target.what, target.name, arguments->reason, &error);
    if (paused < 0 || wait_for_claims(admin, &error) < 0)
        status = cli_fail(&error);
    else
        (void)printf("%s is paused%s\n", target.shown, paused > 0 ? "" : " already");
    admin_close(admin);
    return status;
}

static int resume(struct admin *admin, const struct target *target, struct error *error)
{
    int was_paused = admin_resume(admin, target->what, target->name, error);

    if (was_paused < 0)
        return -1;
    if (was_paused == 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s is not paused", target->shown);
        return error_hint(error, "outbox-relay pause lists what is paused");
    }
    if (target->what == PAUSE_SINK)
        return 0;
    /* What a claim that is open for longer still parks becomes due by itself. */
    if (admin_wait_for_claims(admin, error) < 0)
        return -1;
    return admin_let_go(admin, target->what, target->name, error);
}

enum exit_status cli_resume(const struct arguments *arguments, struct config *config)
{
    struct error error;
    struct target target;
    struct admin *admin;
    enum exit_status status = EXIT_DONE;

    /* A pause can be ended even if its sink is no longer configured. */
    if (take_target(&target, "resume", arguments, config, &error) < 0 &&
        (arguments->operand_count != 2 || strcmp(arguments->operands[0], "sink") != 0 ||
         pause_name_problem(target.name) != NULL))
        return cli_fail(&error);
    admin = admin_open_to_write(&config->relay.outbox, &error);
    if (admin == NULL)
        return cli_fail(&error);
    if (resume(admin, &target, &error) < 0)
        status = cli_fail(&error);
    else
        (void)printf("%s resumed\n", target.shown);
    admin_close(admin);
    return status;
}
