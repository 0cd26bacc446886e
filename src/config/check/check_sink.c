#include "config/check/check.h"

#include "base/host.h"
#include "base/text.h"
#include "broker/broker.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_SHOWN_BYTES 96

struct toml_node *loader_sink(const struct loader *loader, int sink)
{
    return toml_find(toml_find(loader->root, "sink"), loader->config->relay.sinks[sink].name);
}

/* `"kafka" and "nats"` */
static char *format_types(char *out, size_t size, unsigned flags)
{
    out[0] = '\0';
    for (const struct sink_type *type = sink_types; type->name != NULL; type++) {
        size_t used = strlen(out);

        if ((flags & type->flag) != 0)
            (void)snprintf(out + used, size - used, "%s\"%s\"", used > 0 ? " and " : "",
                           type->name);
    }
    return out;
}

static void check_foreign_keys(const struct loader *loader, const struct sink_options *sink,
                               enum section section, struct toml_node *node, unsigned type)
{
    char takers[64];

    for (int i = 0; i < node->count; i++) {
        struct toml_node *child = &node->children[i];
        const struct key *key = key_find(section, child->key);
        enum section inner = section_find(section, child->key);
        unsigned flags = inner == SECTION_PROPERTIES ? (unsigned)KEY_KAFKA
                         : inner == SECTION_HEADERS  ? KEY_KAFKA | KEY_NATS
                         : key != NULL               ? key->flags
                                                     : type;

        if ((flags & type) == 0 && !child->by_preset)
            report_problem(loader->report, child,
                           "%s: not a key of a sink of type \"%s\", only of %s%s", child->key,
                           sink->type, format_types(takers, sizeof takers, flags),
                           type == KEY_KAFKA && section == SECTION_SINK
                               ? "; librdkafka's own settings go into properties"
                               : "");
    }
}

static void require(const struct loader *loader, struct toml_node *node, const char *key,
                    const char *message)
{
    if (toml_find(node, key) == NULL)
        report_problem(loader->report, node, "%s", message);
}

static void check_addresses(const struct loader *loader, struct toml_node *node, const char *key,
                            const struct text_list *list, const char *(*problem_of)(const char *))
{
    struct toml_node *list_node = toml_find(node, key);
    char shown[NAME_SHOWN_BYTES];

    if (list_node == NULL || list_node->refused)
        return;
    for (int i = 0; i < list->count; i++) {
        const char *item = list->items[i];
        const char *problem = problem_of(item);

        if (problem == NULL)
            continue;
        if (server_url_has_credentials(item))
            report_refusal(loader->report, &list_node->children[i], "%s: %s", key, problem);
        else
            report_refusal(loader->report, &list_node->children[i], "%s: \"%s\": %s", key,
                           text_escape(shown, sizeof shown, item, strlen(item)), problem);
    }
}

static void refuse_both(const struct loader *loader, struct toml_node *node, const char *key,
                        const char *other)
{
    if (toml_find(node, key) != NULL && toml_find(node, other) != NULL)
        report_problem(loader->report, toml_find_or_table(node, key),
                       "%s: %s is given too; keep only one of them", key, other);
}

static void require_other(const struct loader *loader, struct toml_node *node, const char *key,
                          const char *other)
{
    if (toml_find(node, key) != NULL && toml_find(node, other) == NULL)
        report_problem(loader->report, toml_find_or_table(node, key), "%s: requires %s", key,
                       other);
}

static void check_login(const struct loader *loader, struct toml_node *node)
{
    static const char *const exclusive[][2] = {{"password_file", "password"},
                                               {"token_file", "token"},
                                               {"token", "username"},
                                               {"token_file", "username"},
                                               {"credentials_file", "username"},
                                               {"credentials_file", "token"},
                                               {"credentials_file", "token_file"},
                                               {"nkey", "username"},
                                               {"nkey", "token"},
                                               {"nkey", "token_file"},
                                               {"nkey", "credentials_file"}};
    static const char *const needed[][2] = {{"password", "username"},
                                            {"password_file", "username"},
                                            {"nkey", "nkey_file"},
                                            {"nkey_file", "nkey"},
                                            {"tls_cert_file", "tls_key_file"},
                                            {"tls_key_file", "tls_cert_file"}};

    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
        refuse_both(loader, node, exclusive[i][0], exclusive[i][1]);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        require_other(loader, node, needed[i][0], needed[i][1]);
    if (toml_find(node, "password") == NULL && toml_find(node, "password_file") == NULL)
        require_other(loader, node, "username", "password_file");
}

/* A stream is created with the patterns of allow as its subjects, so they must be usable as
 * such. */
static void check_create(const struct loader *loader, const struct sink_options *sink,
                         struct toml_node *node)
{
    struct toml_node *list = toml_find(node, "allow");

    if (!sink->create)
        return;
    if (list == NULL)
        report_problem(loader->report, toml_find_or_table(node, "create"),
                       "create: requires allow, whose patterns become the stream's subjects");
    else if (!list->refused)
        for (int i = 0; i < sink->allow.count; i++)
            if (sink->allowed[i].is_regex)
                report_problem(loader->report, &list->children[i],
                               "allow: a regular expression cannot be a subject of the stream that "
                               "is created");
}

/* A .creds file and an NKey need no TLS: they sign the server's challenge, and the seed is never
 * sent. */
static void check_plaintext(const struct loader *loader, const struct sink_options *sink,
                            struct toml_node *node)
{
    static const char plain[] = "nats://";
    const struct toml_node *list = toml_find(node, "servers");

    if (sink->allow_plaintext || sink->tls_ca_file != NULL || sink->tls_cert_file != NULL ||
        (sink->username == NULL && sink->token == NULL && sink->token_file == NULL) ||
        list == NULL || list->refused)
        return;
    for (int i = 0; i < sink->servers.count; i++) {
        const char *server = sink->servers.items[i];

        if (!list->children[i].refused && strncmp(server, plain, strlen(plain)) == 0 &&
            !host_of_address_is_loopback(server + strlen(plain)))
            report_problem(loader->report, &list->children[i],
                           "servers: \"%s\": the %s would cross the network without TLS; write "
                           "tls://, or allow_plaintext = true to say that this network is trusted",
                           server, sink->username != NULL ? "password" : "token");
    }
}

static void check_nats(const struct loader *loader, const struct sink_options *sink,
                       struct toml_node *node)
{
    require(loader, node, "servers",
            "a sink of type \"nats\" needs servers = [\"nats://HOST:PORT\"]");
    require(loader, node, "stream",
            "a sink of type \"nats\" needs stream = \"NAME\", a JetStream stream; at-most-once "
            "delivery without a stream is not supported");
    check_addresses(loader, node, "servers", &sink->servers, server_url_problem);
    check_login(loader, node);
    check_plaintext(loader, sink, node);
    check_create(loader, sink, node);
}

/* librdkafka runs sasl.kerberos.kinit.cmd in a shell, with keytab and principal inserted, and loads
 * the libraries that the other properties name (a plugin as soon as its property is set). */
static void check_code(const struct loader *loader, struct toml_node *node)
{
    static const char *const names[] = {"plugin.library.paths", "sasl.kerberos.kinit.cmd",
                                        "sasl.kerberos.keytab", "sasl.kerberos.principal",
                                        "ssl.engine.location",  "ssl.providers"};
    struct toml_node *properties = toml_find(node, "properties");
    char path[NAME_SHOWN_BYTES];

    text_escape(path, sizeof path, loader->report->name, strlen(loader->report->name));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct toml_node *property = toml_find(properties, names[i]);

        if (property != NULL && !loader->is_own)
            report_problem(
                loader->report, property,
                "%s: librdkafka runs or loads what this names, and others can change this "
                "file; make root or the relay's user its owner and run chmod go-w %s",
                names[i], path);
    }
}

static void check_kafka(const struct loader *loader, const struct sink_options *sink,
                        struct toml_node *node)
{
    require(loader, node, "brokers", "a sink of type \"kafka\" needs brokers = [\"HOST:PORT\"]");
    check_addresses(loader, node, "brokers", &sink->brokers, broker_address_problem);
    check_code(loader, node);
}

/* Whether no part of the node was refused. */
static bool is_sound(const struct toml_node *node)
{
    if (node->refused)
        return false;
    for (int i = 0; i < node->count; i++)
        if (!is_sound(&node->children[i]))
            return false;
    return true;
}

static bool quotes_value(const char *text, const char *secret)
{
    return secret != NULL && secret[0] != '\0' && strstr(text, secret) != NULL;
}

/* Whether a message contains a secret, since a client library may quote a value that it does not
 * understand. */
static bool quotes_secret(const char *text, const struct sink_options *sink)
{
    for (int i = 0; i < sink->property_count; i++)
        if (is_secret_property(sink->properties[i].name) &&
            quotes_value(text, sink->properties[i].value))
            return true;
    return quotes_value(text, sink->password) || quotes_value(text, sink->token);
}

/* The property that a message is about, which is the first whose name it quotes; -1: none. */
static int find_named_property(const struct sink_options *sink, const char *text)
{
    const char *first = NULL;
    int found = -1;

    for (int i = 0; i < sink->property_count; i++) {
        char quoted[128];
        const char *at;

        (void)snprintf(quoted, sizeof quoted, "\"%s\"", sink->properties[i].name);
        at = strstr(text, quoted);
        if (at != NULL && (first == NULL || at < first)) {
            first = at;
            found = i;
        }
    }
    return found;
}

/* `name`: the property that the message is about; NULL: none. */
static void report_client(const struct loader *loader, const struct sink_options *sink,
                          struct toml_node *node, const struct error *error, const char *name)
{
    struct toml_node *at = name != NULL ? toml_find(toml_find(node, "properties"), name) : node;
    char text[384];
    char hint[256];

    if (quotes_secret(error->text, sink) || quotes_secret(error->hint, sink))
        report_problem(loader->report, at,
                       "%s: refused; the reason is not shown because it contains a secret. To see "
                       "it, read the secret from a file (\"..._file\")",
                       name != NULL ? name : sink->name);
    else
        report_problem(loader->report, at, "%s%s%s",
                       text_escape(text, sizeof text, error->text, strlen(error->text)),
                       error->hint[0] != '\0' ? "; " : "",
                       text_escape(hint, sizeof hint, error->hint, strlen(error->hint)));
}

/* A client reports only its first problem. To find the next one, the check is repeated without the
 * property that the message is about. */
static void check_client(const struct loader *loader, const struct sink_options *sink,
                         struct toml_node *node, const struct broker_ops *ops)
{
    struct sink_options rest = *sink;
    char warning[256] = "";
    struct error error = {0};

    while (ops->check_options != NULL &&
           ops->check_options(&rest, warning, sizeof warning, &error) < 0) {
        int property = find_named_property(&rest, error.text);

        report_client(loader, sink, node, &error,
                      property >= 0 ? rest.properties[property].name : NULL);
        if (property < 0)
            return;
        rest.properties[property] = rest.properties[--rest.property_count];
    }
    if (warning[0] != '\0')
        report_warning(loader->report, node, "%s", warning);
}

static bool is_attribute(struct text name)
{
    return strncasecmp(name.data, "ce_", 3) == 0 || strncasecmp(name.data, "ce-", 3) == 0 ||
           strcasecmp(name.data, "content-type") == 0;
}

/* Whether a header of [outbox.headers] has the value of the column event_id. */
static bool a_row_header_holds_the_id(const struct outbox_options *outbox)
{
    const char *event_id = outbox->columns[COLUMN_EVENT_ID];

    for (int i = 0; event_id != NULL && i < outbox->header_count; i++)
        if (strcmp(outbox->headers[i].value, event_id) == 0)
            return true;
    return false;
}

/* The names of the relay's own headers: those that the broker takes, and no two alike. */
static void check_headers(const struct loader *loader, const struct sink_options *sink,
                          struct toml_node *node, unsigned type)
{
    const struct header_rules rules = sink_header_rules(sink, type == KEY_NATS);
    struct toml_node *headers = toml_find(node, "headers");

    if (type == KEY_STDOUT || headers == NULL || headers->type != TOML_TABLE)
        return;
    check_foreign_keys(loader, sink, SECTION_HEADERS, headers, type);
    for (int i = 0; i < OWN_HEADERS; i++) {
        const char *key = own_header_name((enum own_header)i);
        struct toml_node *child = toml_find_or_table(headers, key);
        const char *broken = NULL;

        if (rules.own[i].data == NULL || toml_is_refused(headers, key))
            continue;
        broken = type == KEY_NATS ? rules_nats_header_name(rules.own[i])
                                  : rules_kafka_header_name(rules.own[i]);
        if (broken == NULL && sink->cloudevents != CLOUDEVENTS_OFF && is_attribute(rules.own[i]))
            broken = "this name belongs to CloudEvents";
        if (broken != NULL)
            report_refusal(loader->report, child, "%s: %s", key, broken);
        for (int other = 0; broken == NULL && other < i; other++)
            if (text_equal(rules.own[i], rules.own[other]))
                report_refusal(loader->report, child, "%s: the header of %s has the same name", key,
                               own_header_name((enum own_header)other));
    }
    if (rules.own[OWN_ID].data == NULL && sink->cloudevents == CLOUDEVENTS_OFF &&
        !a_row_header_holds_the_id(&loader->config->relay.outbox))
        report_warning(loader->report, toml_find_or_table(headers, "id"),
                       "id: no header holds the event id%s, by which consumers recognise repeats",
                       type == KEY_NATS ? " but Nats-Msg-Id" : "");
}

/* Why this sink would refuse each row for its header of that name; NULL: it would not. */
static const char *name_problem(const struct sink_options *sink, unsigned type, const char *name)
{
    const struct header_rules rules = sink_header_rules(sink, type == KEY_NATS);
    const struct header header = {text_of(name), text_of("x")};
    bool is_event = sink->cloudevents != CLOUDEVENTS_OFF;

    if (is_event && strncmp(name, "ce_", 3) == 0)
        return cloudevents_name_problem(text_of(name + 3));
    if (is_event && type == KEY_NATS && strncmp(name, "ce-", 3) == 0)
        return "the header of an attribute is named ce_..., for every broker";
    return rules_headers(&rules, &header, 1, type == KEY_NATS);
}

/* Each row has the headers of [outbox.headers], so one that a sink refuses makes every row dead. */
static void check_row_headers(const struct loader *loader, const struct sink_options *sink,
                              unsigned type)
{
    const struct outbox_options *outbox = &loader->config->relay.outbox;
    struct toml_node *section = toml_find(toml_find(loader->root, "outbox"), "headers");
    char shown[NAME_SHOWN_BYTES];

    for (int i = 0; type != KEY_STDOUT && i < outbox->header_count; i++) {
        const char *name = outbox->headers[i].name;
        const char *problem = name_problem(sink, type, name);

        if (problem != NULL && !outbox->headers[i].is_attribute)
            report_problem(loader->report, toml_find_or_table(section, name),
                           "\"%s\": sink \"%s\" would refuse every row: %s",
                           text_escape(shown, sizeof shown, name, strlen(name)), sink->name,
                           problem);
    }
}

static const struct broker_ops *find_ops(const struct loader *loader,
                                         const struct sink_options *sink, struct toml_node *node)
{
    const struct broker_ops *ops;
    char shown[NAME_SHOWN_BYTES];

    if (sink->type == NULL) {
        if (toml_find(node, "type") == NULL)
            report_problem(loader->report, node, "a sink needs a type: %s", broker_types());
        return NULL;
    }
    ops = broker_ops_find(sink->type);
    if (ops == NULL)
        report_problem(loader->report, toml_find_or_table(node, "type"),
                       "type: unknown type \"%s\"; known: %s",
                       text_escape(shown, sizeof shown, sink->type, strlen(sink->type)),
                       broker_types());
    return ops;
}

void check_sink(const struct loader *loader, int sink)
{
    const struct sink_options *options = &loader->config->relay.sinks[sink];
    struct toml_node *node = loader_sink(loader, sink);
    const struct broker_ops *ops = find_ops(loader, options, node);
    int errors = loader->report->errors.count;
    unsigned type;

    if (ops == NULL)
        return;
    type = sink_type_flag(options->type);
    check_foreign_keys(loader, options, SECTION_SINK, node, type);
    check_headers(loader, options, node, type);
    check_row_headers(loader, options, type);
    if (options->cloudevents != CLOUDEVENTS_OFF && ops->events != NULL &&
        options->event_source == NULL &&
        !toml_is_refused(toml_find(loader->root, "cloudevents"), "source"))
        report_problem(loader->report, toml_find_or_table(node, "cloudevents"),
                       "cloudevents: requires [cloudevents] with a source, which says where the "
                       "events come from");
    if (type == KEY_KAFKA)
        check_kafka(loader, options, node);
    else if (type == KEY_NATS)
        check_nats(loader, options, node);
    if (loader->report->errors.count == errors && is_sound(node))
        check_client(loader, options, node, ops);
}
