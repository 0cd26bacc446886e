-- Part of a claim in place of claimed_rows.sql: only which row comes first. Reads no value that PostgreSQL might not be
-- able to read.
SELECT relay_row, {locked_id}::text{note_columns} FROM locked WHERE $2::int8 IS NOT NULL
