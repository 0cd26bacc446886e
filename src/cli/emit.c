#include "cli/cli.h"

#include "base/text.h"
#include "source/admin.h"
#include "source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Collects the ids of inserted events, which are printed after the commit. */
struct output {
    FILE *lines;
    bool json;
    int64_t count;
};

static void note_id(void *closure, const char *id, const char *event_id)
{
    struct output *output = closure;
    char row[256];
    char event[256];

    output->count++;
    if (output->json)
        (void)fprintf(output->lines, "{\"id\":\"%s\",\"event_id\":\"%s\"}\n",
                      text_escape_json(row, sizeof row, id, strlen(id)),
                      text_escape_json(event, sizeof event, event_id, strlen(event_id)));
    else
        (void)fprintf(output->lines, "%s\n", text_escape(row, sizeof row, id, strlen(id)));
}

/* Who types the command is told what comes next. */
static void say_read(void)
{
    if (isatty(STDIN_FILENO) == 1)
        (void)fprintf(stderr, "reading from the terminal, until Ctrl-D\n");
}

#define PAYLOAD_BYTES_MAX (256 * 1024 * 1024)

/* Reads all of stdin, terminated by NUL. NULL with *error set: it cannot be read or is too
 * large. */
static char *read_stdin(size_t *len, struct error *error)
{
    size_t size = 65536;
    char *bytes = malloc(size);

    *len = 0;
    while (bytes != NULL) {
        size_t got = fread(bytes + *len, 1, size - 1 - *len, stdin);
        char *larger;

        *len += got;
        if (got == 0)
            break;
        if (*len < size - 1)
            continue;
        larger = size < PAYLOAD_BYTES_MAX ? realloc(bytes, size * 2) : NULL;
        if (larger == NULL)
            free(bytes);
        bytes = larger;
        size *= 2;
    }
    if (bytes == NULL || ferror(stdin)) {
        free(bytes);
        (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "stdin: %s",
                        ferror(stdin) ? strerror(errno) : "larger than 256 MiB");
        return NULL;
    }
    bytes[*len] = '\0';
    return bytes;
}

static int emit_one(struct admin *admin, const struct arguments *arguments,
                    const struct emitted_ids *ids, struct error *error)
{
    const char *payload = arguments->operand_count > 2 ? arguments->operands[2] : NULL;
    struct event event = {.topic = arguments->operands[0],
                          .key = arguments->operand_count > 1 ? arguments->operands[1] : NULL,
                          .type = arguments->type,
                          .payload = payload,
                          .payload_len = payload != NULL ? strlen(payload) : 0};
    char *from_stdin = NULL;
    int status;

    if (payload != NULL && strcmp(payload, "-") == 0) {
        say_read();
        from_stdin = read_stdin(&event.payload_len, error);
        if (from_stdin == NULL)
            return -1;
        event.payload = from_stdin;
    }
    status = admin_begin(admin, error) < 0 || admin_emit(admin, &event, ids, error) < 0 ||
                     admin_commit(admin, error) < 0
                 ? -1
                 : 0;
    free(from_stdin);
    return status;
}

static int emit_line(struct admin *admin, const char *line, long number,
                     const struct emitted_ids *ids, struct error *error)
{
    struct error cause;

    if (admin_emit_json(admin, line, ids, &cause) == 0)
        return 0;
    return error_set(error, cause.kind, cause.origin, "stdin:%ld: %s; nothing was inserted", number,
                     cause.text);
}

/* Inserts all lines in one transaction: all or none. */
static int emit_lines(struct admin *admin, const struct emitted_ids *ids, struct error *error)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    long number = 0;
    int status = admin_begin(admin, error);

    say_read();
    while (status == 0 && (len = getline(&line, &size, stdin)) >= 0 && !ferror(stdin)) {
        number++;
        if (memchr(line, '\0', (size_t)len) != NULL)
            status = error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                               "stdin:%ld: a NUL byte; nothing was inserted", number);
        line[strcspn(line, "\n")] = '\0';
        if (status == 0 && line[0] != '\0')
            status = emit_line(admin, line, number, ids, error);
    }
    /* A read error ends the input too, and getline may have returned a truncated last line. */
    if (status == 0 && (!feof(stdin) || ferror(stdin)))
        status = error_set(error, ERROR_PERMANENT, ERROR_SELF, "stdin: %s; nothing was inserted",
                           strerror(errno));
    free(line);
    if (status == 0)
        status = admin_commit(admin, error);
    return status;
}

static void say_done(const struct output *output, const char *table)
{
    if (isatty(STDOUT_FILENO) == 1)
        (void)fprintf(stderr,
                      "%" PRId64 " event%s inserted into %s; `%s explain` says where"
                      " relays send %s\n",
                      output->count, PLURAL(output->count), table, source_program,
                      output->count == 1 ? "it" : "them");
}

enum exit_status cli_emit(const struct arguments *arguments, struct config *config)
{
    struct error error;
    char *lines = NULL;
    size_t len = 0;
    struct output output = {.lines = open_memstream(&lines, &len), .json = arguments->json};
    const struct emitted_ids ids = {.on_event = note_id, .closure = &output};
    struct admin *admin;
    int status = -1;

    if (output.lines == NULL) {
        (void)error_no_memory(&error);
        return cli_fail(&error);
    }
    if (arguments->operand_count == 0 && arguments->type != NULL) {
        (void)fclose(output.lines);
        free(lines);
        (void)cli_refuse("emit", "--type is for a TOPIC; a line has its own \"type\"", &error);
        return cli_fail(&error);
    }
    admin = admin_open_to_write(&config->relay.outbox, &error);
    if (admin != NULL)
        status = arguments->operand_count > 0 ? emit_one(admin, arguments, &ids, &error)
                                              : emit_lines(admin, &ids, &error);
    admin_close(admin);
    if (fclose(output.lines) == 0 && status == 0) {
        (void)fwrite(lines, 1, len, stdout);
        cli_flush();
        say_done(&output, config->relay.outbox.table);
    }
    free(lines);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
