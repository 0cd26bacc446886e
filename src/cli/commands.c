/* The commands: what the command line is checked by, and `help`, which prints them. */
#include "cli/cli.h"

#include "admin/admin.h"
#include "base/version.h"
#include "broker/broker.h"

#include <stdio.h>
#include <string.h>

#define ID_HELP "An ID is a row id or an event_id; -- stands before a negative one.\n"
#define SINCE_HELP "2h, 7d, or \"2026-01-31 22:15\" (UTC)"

const struct command commands[] = {
    {"run", "[--drain]", "relay until stopped",
     "  --drain        end when nothing is left: with status 0, or with 1 when parked or dead\n"
     "                 rows remain; progress goes to standard error\n\n"
     "examples:\n"
     "  outbox-relay run -c /etc/outbox-relay/shop.toml\n"
     "  outbox-relay run --drain\n",
     "drain", 0, 0, true, cli_run},
    {"init",
     "[--print] [--notify] [--order-trigger]\n       [--grant ROLE] [--feed TABLE] [--inbox]",
     "create the tables and indexes",
     "Repeating it is safe. A table that exists is never altered: SQL that it needs is printed,\n"
     "and the exit status is 5.\n\n"
     "  --print        print the SQL of a complete set-up, and change nothing\n"
     "  --notify       add the trigger by which inserts wake idle relays\n"
     "  --order-trigger\n"
     "                 add the trigger that locks each row's key before it draws the id, so that\n"
     "                 the application need not; for an outbox that exists print its SQL\n"
     "  --grant ROLE   print the grants that a relay's role needs\n"
     "  --feed TABLE   print the triggers that write the rows of another table into the outbox,\n"
     "                 and mark them there when they are sent\n"
     "  --inbox        print the table and functions by which a consumer drops repeats, for its\n"
     "                 own database; no configuration is needed\n\n"
     "examples:\n"
     "  outbox-relay init\n"
     "  outbox-relay init --order-trigger\n"
     "  outbox-relay init --grant relay | psql shop\n"
     "  outbox-relay init --feed orders >feed.sql\n"
     "  outbox-relay init --inbox | psql billing\n",
     "print grant notify order-trigger feed inbox", 0, 0, true, cli_init},
    {"check", "[--json]", "test configuration, database and brokers: every problem",
     "Each problem comes with the SQL, command or key that mends it.\n\n"
     "  --json         one object per line\n\n"
     "example:\n"
     "  outbox-relay check\n",
     "json", 0, 0, true, cli_check},
    {"introspect", "TABLE", "print the configuration that a table suggests",
     "Prints [outbox] and [outbox.columns] for an existing table, by the names and types of its\n"
     "columns, with comments on what it could not decide. It takes the database's address from\n"
     "the configuration and changes nothing. Read the draft, then run check and explain.\n\n"
     "example:\n"
     "  outbox-relay introspect public.events >>relay.toml\n",
     "", 1, 1, true, cli_introspect},
    {"explain", "[ID... | [--last N] [--where SQL]] [--json]",
     "what would become of rows, without sending them",
     "Says of each row of the outbox, as `run` would decide, where it goes, with which key and\n"
     "headers, and what would refuse it. Of a row that is parked it says what another try would\n"
     "do. Nothing is sent, written or locked. Without arguments: the last 5.\n\n"
     "  --last N       the N rows with the highest ids, at most 1000\n"
     "  --where SQL    of those within this condition over the outbox's columns; it is run in a\n"
     "                 transaction that only reads, with an empty search_path\n"
     "  --json         one object per line\n\n" ID_HELP "\n"
     "examples:\n"
     "  outbox-relay explain 4711\n"
     "  outbox-relay explain --last 20 --where \"topic LIKE 'order.%'\" --json\n",
     "last where json", 0, EXPLAIN_ROWS_MAX, true, cli_explain},
    {"status", "[--json] [--watch] [--lanes] [--max-age D] ...",
     "backlog, oldest age, sinks, parked and dead, who relays",
     "  --watch          again every two seconds, until Ctrl-C\n"
     "  --lanes          what each lane does\n"
     "  --json           one object\n"
     "  --max-age D      for cron and probes: print only what is above its limit, and exit with\n"
     "                   status 1 if anything is. D: age of the oldest event to be sent, as 60s\n"
     "  --max-backlog N  the same for the number of unsent rows\n"
     "  --max-dead N     of dead ones\n"
     "  --max-parked N   of parked ones that do not wait for their time, or behind such a row\n\n"
     "examples:\n"
     "  outbox-relay status --watch\n"
     "  outbox-relay status --max-age 60s --max-dead 0\n",
     "json watch lanes max-age max-backlog max-dead max-parked", 0, 0, true, cli_status},
    {"health", "", "ask the relay of this machine whether it works",
     "For health checks of containers: prints what /healthz answers, and exits with status 1 when\n"
     "only a restart helps or no relay answers at [http] listen.\n\n"
     "example:\n"
     "  outbox-relay health\n",
     "", 0, 0, true, cli_health},
    {"emit", "TOPIC [KEY] [PAYLOAD|-] [--type T]", "insert an event, or NDJSON from stdin",
     "Prints the id of each event, one per line. Without a PAYLOAD it is a tombstone; - reads it\n"
     "from standard input. Without a TOPIC, lines of JSON are read from standard input and\n"
     "inserted in one transaction: {\"topic\": T, \"key\": K, \"type\": T, \"payload\": ...,\n"
     "\"headers\": {...}}.\n\n"
     "  --type T       the header \"type\"\n"
     "  --json         one object per line: {\"id\": ..., \"event_id\": ...}\n\n"
     "examples:\n"
     "  outbox-relay emit order.paid order-42 '{\"order\": 42}' --type OrderPaid\n"
     "  outbox-relay emit <events.ndjson\n",
     "type json", 0, 3, true, cli_emit},
    {"dead", "list | show ID | retry|drop ID...|--all", "parked and dead rows: see, retry, delete",
     "  list           parked and dead rows, the newest first\n"
     "  show ID        all of one row, its payload too\n"
     "  retry, drop    the rows with these ids, parked or dead: all of them or, when one is\n"
     "                 not found, none; or the dead rows that a filter chooses\n\n"
     "  --type T       of this type\n"
     "  --topic T      with this topic; * and > by token as in routes (retry, drop: also rows\n"
     "                 that wait for a route or for allow)\n"
     "  --since WHEN   parked since: " SINCE_HELP "\n"
     "  --limit N      list: the newest N of them\n"
     "  --all          every dead row (list: every row)\n"
     "  --dry-run      retry, drop: show what would be done\n"
     "  --json         one object per line\n\n" ID_HELP "\n"
     "examples:\n"
     "  outbox-relay dead list --topic 'invoice.*'\n"
     "  outbox-relay dead retry --since 2h --dry-run\n"
     "  outbox-relay dead drop 4711\n",
     "json all type topic since limit dry-run", 1, OPERANDS_MAX, true, cli_dead},
    {"purge", "[--older-than 7d] [--dry-run]", "delete sent rows older than the retention",
     "  --older-than D deletes rows that were sent longer ago than that\n"
     "  --dry-run      only count them\n\n"
     "Of a table that init did not create only if the comment of sent_at says that only the relay\n"
     "writes it.\n\n"
     "example:\n"
     "  outbox-relay purge --older-than 30d --dry-run\n",
     "older-than dry-run", 0, 0, true, cli_purge},
    {"pause", "[sink NAME | topic PATTERN | key KEY]", "stop publishing a sink, a topic or a key",
     "All relays obey at once: when the command returns, none publishes such a row any more.\n"
     "Rows of a paused sink stay in the outbox; those of a paused topic or key are parked, and\n"
     "keep their order. Without an argument it lists what is paused.\n\n"
     "  --reason TEXT  shown with the pause\n"
     "  --json         the list: one object per line\n\n"
     "examples:\n"
     "  outbox-relay pause sink events --reason 'broker upgrade'\n"
     "  outbox-relay pause topic 'invoice.>'\n"
     "  outbox-relay pause key order-42\n",
     "reason json", 0, 2, true, cli_pause},
    {"resume", "sink NAME | topic PATTERN | key KEY", "end a pause",
     "Named as it was paused; `outbox-relay pause` lists what is.\n\n"
     "example:\n"
     "  outbox-relay resume topic 'invoice.>'\n",
     "", 2, 2, true, cli_resume},
    {"replay", "ID... | --topic T --since WHEN [--rate N] [--dry-run]", "send sent rows again",
     "Copies the rows, and relays send the copies, with the header replayed_at and the same id.\n"
     "It needs on_sent = \"mark\", and a sent_at that only the relay writes; it reaches as far\n"
     "back as the retention. All ids are found, or nothing is done; --topic and --since may be\n"
     "given alone. Ctrl-C ends it after the step in hand and says how far it came.\n\n"
     "  --topic T      with this topic; * and > by token as in routes\n"
     "  --since WHEN   sent since: " SINCE_HELP "\n"
     "  --rate N       rows a second; 1000 is the default\n"
     "  --dry-run      show the first rows and count them\n\n" ID_HELP "\n"
     "examples:\n"
     "  outbox-relay replay 4711 4712\n"
     "  outbox-relay replay --topic 'invoice.>' --since 2h --dry-run\n",
     "topic since rate dry-run", 0, OPERANDS_MAX, true, cli_replay},
    {"audit",
     "[--since WHEN | --from ID --to ID]\n"
     "       [--sink NAME] [--repair [--yes] [--rate N]] [--json]",
     "what the brokers hold against what the table says",
     "Reads the rows that were sent and the messages that the brokers hold, and says which events\n"
     "are missing, there but unknown to the table, late within their key, there again or altered,\n"
     "and how many are too old to tell. Relays may go on.\n\n"
     "Exit status: 0 no findings, 1 findings (also after a repair), 2 the table does not say what\n"
     "was sent, 4 a broker could not be read.\n\n"
     "It reads the outbox, its parked and its control table (SELECT), and ends there the warning\n"
     "of a loss (INSERT, DELETE). NATS: it makes a consumer on the stream, which it deletes.\n"
     "Kafka: it reads the topics without a group (READ and DESCRIBE).\n\n"
     "  --since WHEN   of what was sent since: " SINCE_HELP "\n"
     "  --from ID, --to ID   of the rows with these ids and those between\n"
     "  --sink NAME    of this sink alone\n"
     "  --repair       send again what is missing, as replay does, after a question\n"
     "  --yes          do not ask\n"
     "  --rate N       rows a second that are sent again; 1000 is the default\n"
     "  --json         a line for each finding, and one with the counts\n\n"
     "examples:\n"
     "  outbox-relay audit --since 1h\n"
     "  outbox-relay audit --sink bus --repair\n",
     "since from to sink repair yes rate json", 0, 0, true, cli_audit},
    {"peek", "SINK [TOPIC] [--last N] [--json]", "the last messages that a broker holds",
     "Reads them without a group or a durable consumer, so that other consumers notice nothing.\n"
     "TOPIC is Kafka's topic, or a subject of JetStream, patterns too. Without it: the topics\n"
     "that the sink's `allow` names, or the whole stream.\n\n"
     "  --last N       so many, at most 1000; 10 is the default\n"
     "  --json         one object per line, with the whole payload\n\n"
     "NATS: it makes a consumer on the stream, which it deletes. Kafka: READ and DESCRIBE.\n\n"
     "examples:\n"
     "  outbox-relay peek events\n"
     "  outbox-relay peek bus shop.order.paid --last 3 --json\n",
     "last json", 1, 2, true, cli_peek},
    {"sql", "[NAME] [--list]", "the SQL that relays and commands send",
     "Prints the statement of this name, or all, as relays and commands send them with this\n"
     "configuration and these tables: to read them, and to EXPLAIN them.\n\n"
     "  --list         the names, and what each statement does\n\n"
     "examples:\n"
     "  outbox-relay sql --list\n"
     "  outbox-relay sql claim_0\n",
     "list", 0, 1, true, cli_sql},
    {"config", "[--defaults] [--preset NAME]", "the effective configuration, secrets hidden",
     "  --defaults     every key with its default and what it means\n"
     "  --preset NAME  the preset: what table it fits, and its values\n\n"
     "examples:\n"
     "  outbox-relay config --defaults >relay.toml\n"
     "  outbox-relay config --preset debezium\n",
     "defaults preset", 0, 0, false, cli_config},
    {"version", "", "the version", "", "", 0, 0, false, cli_version},
    {"help", "[COMMAND]", "this, or a command's options and examples", "", "", 0, 1, false,
     cli_help},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL}};

void cli_print_commands(FILE *out)
{
    (void)fprintf(
        out,
        "outbox-relay: from a transactional outbox in PostgreSQL to Kafka or NATS JetStream\n\n"
        "usage: outbox-relay COMMAND [-c relay.toml] ...\n\n");
    for (const struct command *command = commands; command->name != NULL; command++)
        (void)fprintf(out, "  %-10s %s\n", command->name, command->summary);
    (void)fprintf(
        out,
        "\n`outbox-relay help COMMAND` shows options and examples. Configuration: -c FILE, or\n"
        "$OUTBOX_RELAY_CONFIG, ./relay.toml, /etc/outbox-relay/relay.toml; `outbox-relay config"
        " --defaults`\nshows every key.\n"
        "Exit status: 0 done, 1 runtime failure, 2 usage or configuration, 3 database, schema or\n"
        "permission, 4 broker, 5 init printed SQL that you have to run.\n");
}

enum exit_status cli_help(const struct arguments *arguments, struct config *config)
{
    (void)config;
    if (arguments->operand_count == 0) {
        cli_print_commands(stdout);
        return EXIT_DONE;
    }
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, arguments->operands[0]) != 0)
            continue;
        (void)printf("usage: outbox-relay %s%s%s%s\n\n%s\n", command->name,
                     command->needs_config ? " [-c relay.toml]" : "",
                     command->synopsis[0] != '\0' ? " " : "", command->synopsis, command->summary);
        if (command->details[0] != '\0')
            (void)printf("\n%s", command->details);
        return EXIT_DONE;
    }
    (void)fprintf(stderr, "outbox-relay: unknown command \"%s\"\n", arguments->operands[0]);
    return EXIT_USAGE;
}

enum exit_status cli_version(const struct arguments *arguments, struct config *config)
{
    (void)arguments;
    (void)config;
    (void)printf("outbox-relay %s (sinks: %s)\n", RELAY_VERSION, broker_types());
    return EXIT_DONE;
}
