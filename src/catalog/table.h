#ifndef CATALOG_TABLE_H
#define CATALOG_TABLE_H

#include "catalog/options.h"
#include "pg/session.h"

/*
 * What the catalog says of the outbox table, and of the relay's own beside it. Names are quoted by
 * libpq here, once; nothing else pastes a name into SQL.
 */

#define QUOTED_BYTES_MAX 136 /* two quotes, 63 bytes that may all double, and a NUL */

/* SQL: of column `a` of pg_attribute what `base` below says. A domain may be over another one. */
#define COLUMN_BASE_SQL                                                                            \
    "(WITH RECURSIVE base (oid, typmod) AS (SELECT a.atttypid, a.atttypmod UNION ALL"              \
    " SELECT d.typbasetype, d.typtypmod FROM base b JOIN pg_catalog.pg_type d ON d.oid = b.oid"    \
    " WHERE d.typtype = 'd') SELECT pg_catalog.format_type(b.oid, b.typmod) FROM base b"           \
    " JOIN pg_catalog.pg_type u ON u.oid = b.oid WHERE u.typtype <> 'd')"

/* SQL: whether the owner of table `own` of pg_class has the rights of the owner of `outbox`, as a
 * superuser has, or is this role. Triggers and constraints of any other could run as this role. */
#define TABLE_TRUSTED_SQL(own, outbox)                                                             \
    "(pg_catalog.pg_has_role(" own ".relowner, " outbox ".relowner, 'MEMBER') OR " own             \
    ".relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))"

struct table_column {
    const char *name; /* as configured, unquoted; NULL: the preset has none */
    char quoted[QUOTED_BYTES_MAX];
    char type[128]; /* format_type(); "" when the table has no such column */
    char base[128]; /* the same, but of a domain what it is over: how its values travel */
    bool unique;    /* a unique index on this column alone */
    bool not_null;
    bool immutable; /* its text depends on no setting, so that an index may be over it */
    char category;  /* pg_type.typcategory */
};

struct table {
    char schema[64]; /* unquoted */
    char name[64];
    char schema_quoted[QUOTED_BYTES_MAX];
    char quoted[2 * QUOTED_BYTES_MAX];         /* "schema"."table" */
    char parked_quoted[2 * QUOTED_BYTES_MAX];  /* "schema"."table_parked" */
    char slice_quoted[2 * QUOTED_BYTES_MAX];   /* "schema"."table_slice" */
    char claim_index_quoted[QUOTED_BYTES_MAX]; /* the name that init gives the claim's index */
    char notify_quoted[QUOTED_BYTES_MAX];      /* the trigger that init --notify adds */
    uint32_t oid;                              /* 0: it does not exist */
    bool exists;
    bool parked_exists;
    bool slice_exists;   /* valid, as the next two, with order = "key" only */
    bool slice_readable; /* this role may SELECT it */
    int slices;          /* how many it says there are; 0: its rows do not agree */
    char kind;           /* pg_class.relkind */
    char persistence;    /* pg_class.relpersistence */
    bool row_security;
    bool has_children;       /* partitions or inheriting tables */
    bool has_claim_index;    /* a valid index that serves the claim of the configured order */
    const char *where;       /* [outbox] where, as configured; NULL: none */
    char where_problem[512]; /* what PostgreSQL says against it; "": nothing */
    struct table_column columns[COLUMN_COUNT];
};

void table_quote(PGconn *conn, const char *name, char out[QUOTED_BYTES_MAX]);

/* Returns -1: a table beside the outbox, of this name, is not one of the relay's. */
int table_refuse_other(const char *quoted, struct error *error);

bool table_has(const struct table *table, enum column column);

/* Whether the ids are integers, so that it is known where unsent rows begin (horizon.h). */
bool table_has_integer_ids(const struct table *table);

/* Whether the relay cannot do without this column. */
bool table_needs(const struct outbox_options *options, enum column column);

bool table_has_needed(const struct table *table, const struct outbox_options *options);

/* 0, or -1: a view, a foreign or a partitioned table. Not for one that does not exist. */
int table_plain(const struct table *table, struct error *error);

#endif
