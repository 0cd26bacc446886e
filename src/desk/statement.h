#ifndef DESK_STATEMENT_H
#define DESK_STATEMENT_H

#include "base/text.h"
#include "catalog/facts.h"
#include "sql/statements.h"

/*
 * A statement of a command. Beside the language of all statements (sql/sql.h) it has parameters by
 * their names: {$topic} is that of --topic, or a column of an earlier statement, and {if $topic}
 * asks whether it is given.
 */

#define DESK_PARAMS_MAX 32

/* How a row's values are returned. A value that PostgreSQL cannot return, which is a reason for a
 * row to be dead, makes the statement fail; the request is then repeated with the next of these. */
enum desk_detail {
    DESK_WHOLE,
    DESK_ESCAPED, /* as text, in which each byte beyond ASCII is written \nnn */
    DESK_LEFT_OUT /* NULL except for ids and error, because not even escaped text can be made */
};

#define DESK_PAGE_ROWS 1000
#define DESK_PAYLOAD_MAX 4096 /* how much of a payload (bytes, or characters) is shown as text */

/* What $1, $2 and so on are. */
struct desk_params {
    char names[DESK_PARAMS_MAX][24];
    int count;
};

struct desk_statement {
    const struct sql_use *use;
    const char *given; /* the parameters that have a value: "$json $topic"; NULL: those that the
                          statement's head names */
    enum desk_detail detail;
    int page_rows;              /* most rows of one statement */
    struct desk_params *params; /* is set by desk_sql() */
};

/* The statement as it is sent, with the facts about the tables; free() it. NULL: no memory. */
char *desk_sql(const struct desk_statement *statement, const struct sql_facts *facts);

#endif
