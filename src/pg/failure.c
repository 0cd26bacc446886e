/*
 * What PostgreSQL says of a failure, and what of it anybody may read.
 *
 * Its words may hold values of a row: the function that converts a text to a number quotes the
 * text, and a trigger says what it likes, with any SQLSTATE. The text of an error reaches the log,
 * the status page and metrics, so PostgreSQL's own words stand there only where none can come from
 * a row: where they are about the text of the statement, or were written in those of its files that
 * name nothing but objects, sessions and the machine. Otherwise the text is the name of the
 * condition, and the words are kept apart, for the parked table.
 */
#include "pg/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PostgreSQL manual, appendix A: the codes of an error. Names are in lower case and codes are not,
 * so no code is found in a name. In two, as ISO C allows 4,095 characters. */
static const char *const conditions[] = {
    "0A000 feature_not_supported 21000 cardinality_violation 22000 data_exception "
    "22001 string_data_right_truncation 22002 null_value_no_indicator_parameter "
    "22003 numeric_value_out_of_range 22004 null_value_not_allowed 22005 error_in_assignment "
    "22007 invalid_datetime_format 22008 datetime_field_overflow "
    "22009 invalid_time_zone_displacement_value 2200B escape_character_conflict "
    "2200C invalid_use_of_escape_character 2200D invalid_escape_octet "
    "2200F zero_length_character_string 2200G most_specific_type_mismatch "
    "2200H sequence_generator_limit_exceeded 2200L not_an_xml_document "
    "2200M invalid_xml_document 2200N invalid_xml_content 2200S invalid_xml_comment "
    "2200T invalid_xml_processing_instruction 22010 invalid_indicator_parameter_value "
    "22011 substring_error 22012 division_by_zero 22013 invalid_preceding_or_following_size "
    "22014 invalid_argument_for_ntile_function 22015 interval_field_overflow "
    "22016 invalid_argument_for_nth_value_function 22018 invalid_character_value_for_cast "
    "22019 invalid_escape_character 2201B invalid_regular_expression "
    "2201E invalid_argument_for_logarithm 2201F invalid_argument_for_power_function "
    "2201G invalid_argument_for_width_bucket_function 2201W invalid_row_count_in_limit_clause "
    "2201X invalid_row_count_in_result_offset_clause 22021 character_not_in_repertoire "
    "22022 indicator_overflow 22023 invalid_parameter_value 22024 unterminated_c_string "
    "22025 invalid_escape_sequence 22026 string_data_length_mismatch 22027 trim_error "
    "2202E array_subscript_error 2202G invalid_tablesample_repeat "
    "2202H invalid_tablesample_argument 22030 duplicate_json_object_key_value "
    "22031 invalid_argument_for_sql_json_datetime_function 22032 invalid_json_text "
    "22033 invalid_sql_json_subscript 22034 more_than_one_sql_json_item 22035 no_sql_json_item "
    "22036 non_numeric_sql_json_item 22037 non_unique_keys_in_a_json_object "
    "22038 singleton_sql_json_item_required 22039 sql_json_array_not_found "
    "2203A sql_json_member_not_found 2203B sql_json_number_not_found "
    "2203C sql_json_object_not_found 2203D too_many_json_array_elements "
    "2203E too_many_json_object_members 2203F sql_json_scalar_required "
    "2203G sql_json_item_cannot_be_cast_to_target_type 22P01 floating_point_exception "
    "22P02 invalid_text_representation 22P03 invalid_binary_representation "
    "22P04 bad_copy_file_format 22P05 untranslatable_character "
    "22P06 nonstandard_use_of_escape_character 23000 integrity_constraint_violation "
    "23001 restrict_violation 23502 not_null_violation 23503 foreign_key_violation "
    "23505 unique_violation 23514 check_violation 23P01 exclusion_violation "
    "25000 invalid_transaction_state 25001 active_sql_transaction "
    "25002 branch_transaction_already_active "
    "25003 inappropriate_access_mode_for_branch_transaction "
    "25004 inappropriate_isolation_level_for_branch_transaction "
    "25005 no_active_sql_transaction_for_branch_transaction 25006 read_only_sql_transaction "
    "25007 schema_and_data_statement_mixing_not_supported "
    "25008 held_cursor_requires_same_isolation_level 25P01 no_active_sql_transaction "
    "25P02 in_failed_sql_transaction 25P03 idle_in_transaction_session_timeout "
    "28000 invalid_authorization_specification 28P01 invalid_password "
    "2B000 dependent_privilege_descriptors_still_exist 2BP01 dependent_objects_still_exist "
    "2D000 invalid_transaction_termination",
    "38000 external_routine_exception 38001 containing_sql_not_permitted "
    "38002 modifying_sql_data_not_permitted 38003 prohibited_sql_statement_attempted "
    "38004 reading_sql_data_not_permitted 39000 external_routine_invocation_exception "
    "39001 invalid_sqlstate_returned 39004 null_value_not_allowed "
    "39P01 trigger_protocol_violated 39P02 srf_protocol_violated "
    "39P03 event_trigger_protocol_violated 3D000 invalid_catalog_name 3F000 invalid_schema_name "
    "40000 transaction_rollback 40001 serialization_failure "
    "40002 transaction_integrity_constraint_violation 40003 statement_completion_unknown "
    "40P01 deadlock_detected 42000 syntax_error_or_access_rule_violation "
    "42501 insufficient_privilege 42601 syntax_error 42602 invalid_name "
    "42611 invalid_column_definition 42622 name_too_long 42701 duplicate_column "
    "42702 ambiguous_column 42703 undefined_column 42704 undefined_object 42710 duplicate_object "
    "42712 duplicate_alias 42723 duplicate_function 42725 ambiguous_function "
    "42803 grouping_error 42804 datatype_mismatch 42809 wrong_object_type "
    "42830 invalid_foreign_key 42846 cannot_coerce 42883 undefined_function "
    "428C9 generated_always 42939 reserved_name 42P01 undefined_table 42P02 undefined_parameter "
    "42P03 duplicate_cursor 42P04 duplicate_database 42P05 duplicate_prepared_statement "
    "42P06 duplicate_schema 42P07 duplicate_table 42P08 ambiguous_parameter "
    "42P09 ambiguous_alias 42P10 invalid_column_reference 42P11 invalid_cursor_definition "
    "42P12 invalid_database_definition 42P13 invalid_function_definition "
    "42P14 invalid_prepared_statement_definition 42P15 invalid_schema_definition "
    "42P16 invalid_table_definition 42P17 invalid_object_definition 42P18 indeterminate_datatype "
    "42P19 invalid_recursion 42P20 windowing_error 42P21 collation_mismatch "
    "42P22 indeterminate_collation 53000 insufficient_resources 53100 disk_full "
    "53200 out_of_memory 53300 too_many_connections 53400 configuration_limit_exceeded "
    "54000 program_limit_exceeded 54001 statement_too_complex 54011 too_many_columns "
    "54023 too_many_arguments 55000 object_not_in_prerequisite_state 55006 object_in_use "
    "55P02 cant_change_runtime_param 55P03 lock_not_available 55P04 unsafe_new_enum_value_usage "
    "57000 operator_intervention 57014 query_canceled 57P01 admin_shutdown 57P02 crash_shutdown "
    "57P03 cannot_connect_now 57P04 database_dropped 57P05 idle_session_timeout "
    "58000 system_error 58030 io_error 58P01 undefined_file 58P02 duplicate_file "
    "P0000 plpgsql_error P0001 raise_exception P0002 no_data_found P0003 too_many_rows "
    "P0004 assert_failure XX000 internal_error XX001 data_corrupted XX002 index_corrupted"};

/* data == NULL: the list does not have it. */
static struct text find_name(const char *state)
{
    for (size_t i = 0; strlen(state) == 5 && i < sizeof conditions / sizeof *conditions; i++) {
        const char *found = strstr(conditions[i], state);

        if (found != NULL)
            return (struct text){found + 6, strcspn(found + 6, " ")};
    }
    return (struct text){NULL, 0};
}

/* A code that is younger than the list has the name of its class. */
static struct text name_of(const char *state)
{
    char class[6];
    struct text name = find_name(state);

    (void)snprintf(class, sizeof class, "%.2s000", state);
    if (name.data == NULL)
        name = find_name(class);
    return name.data != NULL ? name : text_of("error");
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (int i = 0; name != NULL && list[i] != NULL; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* The text of a value may be parsed as SQL is, of a regtype for example; such an error has a
 * position too, and a context. */
bool session_blames_statement(const PGresult *result)
{
    return PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION) != NULL &&
           PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL;
}

bool session_says_no_value(const PGresult *result)
{
    static const char *const files[] = {
        /* rights */
        "aclchk.c", "rls.c",
        /* sessions, transactions and locks */
        "deadlock.c", "lmgr.c", "plancache.c", "postgres.c", "postinit.c", "predicate.c", "proc.c",
        "procarray.c", "snapmgr.c", "syncrep.c", "utility.c", "xact.c", "xlog.c",
        /* memory, disk and damaged pages */
        "aset.c", "bufmgr.c", "bufpage.c", "detoast.c", "fd.c", "generation.c", "heapam.c",
        "heaptoast.c", "mcxt.c", "md.c", "slru.c", "toast_internals.c",
        /* constraints, of which the first line of a message has names only */
        "domains.c", "execExprInterp.c", "execIndexing.c", "execMain.c", "execReplication.c",
        "nbtinsert.c", "ri_triggers.c", NULL};
    /* definitions: a function may make one named by a value, and then there is a context */
    static const char *const definitions[] = {"dependency.c",     "functioncmds.c", "heap.c",
                                              "index.c",          "indexcmds.c",    "pg_proc.c",
                                              "rewriteHandler.c", "schemacmds.c",   "tablecmds.c",
                                              "trigger.c",        "typecmds.c",     NULL};

    return session_blames_statement(result) ||
           is_one_of(PQresultErrorField(result, PG_DIAG_SOURCE_FILE), files) ||
           (PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL &&
            is_one_of(PQresultErrorField(result, PG_DIAG_SOURCE_FILE), definitions));
}

/* SQLSTATE classes that may go away by themselves (PostgreSQL manual, appendix A). */
static bool is_transient(const char *sqlstate)
{
    static const char *const states[] = {"08", "53", "57", "58", "40", "55", "25", "XX", NULL};
    const char class[3] = {sqlstate[0], sqlstate[1], '\0'};

    return is_one_of(class, states);
}

/* Class 57P are the server's words when it ends, starts or recovers. */
static enum error_cause cause_of(const char *sqlstate)
{
    static const struct {
        const char *prefix;
        enum error_cause cause;
    } causes[] = {{"55P03", ERROR_LOCKED}, {"08", ERROR_CUT},     {"57P", ERROR_CUT},
                  {"42P01", ERROR_GONE},   {"42703", ERROR_GONE}, {"3F000", ERROR_GONE},
                  {"22", ERROR_OF_ROW},    {"P0", ERROR_OF_ROW}};

    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strncmp(sqlstate, causes[i].prefix, strlen(causes[i].prefix)) == 0)
            return causes[i].cause;
    return ERROR_ANY;
}

/* Of a lost connection libpq says what it said of the statements before, too. */
static int fail_of_connection(const struct session *session, struct error *error)
{
    const char *text = "the connection is closed";

    if (session->conn != NULL)
        text = session->quotes_values ? "the connection was lost" : PQerrorMessage(session->conn);
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s", text);
    return error_mark_unanswered(error);
}

static void keep_words(const PGresult *result, struct error *error)
{
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

    error_quote(error, "%s%s%s%s%s", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
                detail != NULL ? "; " : "", detail != NULL ? detail : "", hint != NULL ? "; " : "",
                hint != NULL ? hint : "");
}

int session_fail(struct session *session, const PGresult *result, struct error *error)
{
    const char *sqlstate = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *hint = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;
    const char *position =
        result != NULL ? PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION) : NULL;
    enum error_kind kind;
    struct text said;
    bool is_safe;

    if (sqlstate == NULL || text == NULL)
        return fail_of_connection(session, error);
    kind = is_transient(sqlstate) ? ERROR_TRANSIENT : ERROR_PERMANENT;
    is_safe = session_says_no_value(result);
    said = text_cut(is_safe ? text_of(text) : name_of(sqlstate), 700);
    (void)error_set(error, kind, ERROR_DATABASE, "database: %.*s (SQLSTATE %s)", (int)said.len,
                    said.data, sqlstate);
    (void)snprintf(error->sqlstate, sizeof error->sqlstate, "%s", sqlstate);
    error->cause = cause_of(sqlstate);
    if (position != NULL)
        error->position = (int)strtol(position, NULL, 10);
    if (!is_safe) {
        session->quotes_values = true;
        keep_words(result, error);
        return error_hint(error, "PostgreSQL's log says more: its words are not repeated here,"
                                 " because they may hold values of a row");
    }
    if (hint != NULL)
        (void)error_hint(error, "%s", hint);
    return -1;
}
