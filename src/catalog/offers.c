#include "catalog/columns.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 72

extern const char embedded_guesses[]; /* config/guesses.txt */

/* How well a name fits, best first. */
enum fit { FIT_SPELT, FIT_MEANS, FIT_TYPO, FIT_WORD, FIT_TYPE, FIT_COUNT };

/* The name in lower case without what separates words. */
static void fold(char out[NAME_BYTES], const char *name)
{
    size_t len = 0;

    for (; *name != '\0' && len < NAME_BYTES - 1; name++)
        if (isalnum((unsigned char)*name) || (unsigned char)*name > 0x7f)
            out[len++] = (char)tolower((unsigned char)*name);
    out[len] = '\0';
}

/* The last word of "event_no", "eventNo" or "event no". */
static const char *last_word(const char *name)
{
    const char *word = name;

    for (const char *at = name; at[0] != '\0' && at[1] != '\0'; at++)
        if (at[0] == '_' || at[0] == '-' || at[0] == ' ' ||
            (islower((unsigned char)at[0]) && isupper((unsigned char)at[1])))
            word = at + 1;
    return word;
}

bool guess_means(const char *meaning, const char *name)
{
    char folded[NAME_BYTES];
    char line[NAME_BYTES + 32];

    fold(folded, name);
    (void)snprintf(line, sizeof line, "\n%s %s\n", meaning, folded);
    return strstr(embedded_guesses, line) != NULL;
}

static bool is_uuid(const struct table_column *column)
{
    return strcmp(column->base, "uuid") == 0;
}

/* Whether the type fits. Only a column that no row repeats can be the id, as a foreign key, say,
 * cannot; and what another program fills when it inserts cannot say that a row was sent. */
static bool can_be(enum column column, const struct table_column *found,
                   const struct outbox_options *options)
{
    if (column_wanted(column, found, options) != NULL || found->name[0] == '(' ||
        strpbrk(found->name, "\"\\") != NULL) /* written in quotes */
        return false;
    if (column == COLUMN_ID)
        return found->unique && found->not_null &&
               (column_is_integer(found) || options->order == ORDER_NONE);
    if (column == COLUMN_EVENT_ID)
        return is_uuid(found) || found->unique;
    if (column == COLUMN_SENT_AT)
        return !found->not_null && !found->has_default && found->category == 'D';
    return true;
}

/* Whether the type, or with it the last word of the name, makes it likely. */
static bool is_typical(enum column column, const struct table_column *found)
{
    if (column == COLUMN_ID)
        return column_is_integer(found);
    if (column == COLUMN_EVENT_ID)
        return is_uuid(found) && (found->unique || found->has_default);
    if (column == COLUMN_PAYLOAD)
        return strncmp(found->base, "json", 4) == 0 || strcmp(found->base, "bytea") == 0;
    return column == COLUMN_CREATED_AT && found->category == 'D' && found->not_null &&
           found->has_default;
}

static bool fits(enum fit fit, enum column column, const char *wanted,
                 const struct table_column *found)
{
    char want[NAME_BYTES];
    char have[NAME_BYTES];

    fold(want, wanted);
    fold(have, found->name);
    switch (fit) {
    case FIT_SPELT:
        return want[0] != '\0' && strcmp(want, have) == 0;
    case FIT_MEANS:
        return guess_means(column_name(column), found->name);
    case FIT_TYPO:
        return strlen(want) > 3 && text_distance(want, have) <= strlen(want) / 4;
    case FIT_WORD:
        return guess_means(column_name(column), last_word(found->name)) &&
               (column != COLUMN_EVENT_ID || is_typical(column, found));
    default:
        return is_typical(column, found);
    }
}

/* A uuid that is the primary key may be both ids, as in the preset "debezium". */
static bool is_taken(const struct table *table, enum column column,
                     const struct table_column *found)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (strcmp(table->columns[i].offer, found->name) == 0 ||
            (table_has(table, (enum column)i) && strcmp(table->columns[i].name, found->name) == 0 &&
             !(column == COLUMN_EVENT_ID && i == COLUMN_ID && is_uuid(found) && found->unique)))
            return true;
    return false;
}

/* Whether the table lacks it, or it is of another kind; with order = "key" an id must grow. */
static bool is_missing(const struct table *table, enum column column,
                       const struct outbox_options *options)
{
    return table->columns[column].name[0] != '\0' && column != COLUMN_DUE &&
           !(column == COLUMN_ID && table->numbered) &&
           (!table_has(table, column) ||
            column_wanted(column, &table->columns[column], options) != NULL ||
            (column == COLUMN_ID && options->order == ORDER_KEY && !table_has_integer_ids(table)));
}

/* The first column that fits so well; by its type alone only if no other does. */
static void offer(struct table *table, enum column column, enum fit fit,
                  const struct table_column *columns, int count,
                  const struct outbox_options *options)
{
    struct table_column *mapped = &table->columns[column];
    const char *found = NULL;

    for (int i = 0; i < count; i++) {
        if (is_taken(table, column, &columns[i]) || !can_be(column, &columns[i], options) ||
            !fits(fit, column, mapped->name, &columns[i]))
            continue;
        if (found != NULL && fit == FIT_TYPE)
            return;
        if (found == NULL)
            found = columns[i].name;
    }
    if (found != NULL)
        (void)snprintf(mapped->offer, sizeof mapped->offer, "%s", found);
}

/* A column that the relay can do without is offered only by a name that says so. */
void offers_find(struct table *table, const struct table_column *columns, int count,
                 const struct outbox_options *options)
{
    for (int fit = 0; fit < FIT_COUNT; fit++)
        for (int i = 0; i < COLUMN_COUNT; i++)
            if (is_missing(table, (enum column)i, options) && table->columns[i].offer[0] == '\0' &&
                (table_needs(options, (enum column)i) || (fit <= FIT_TYPO && i != COLUMN_SENT_AT)))
                offer(table, (enum column)i, (enum fit)fit, columns, count, options);
}
