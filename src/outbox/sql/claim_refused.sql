-- Claims rows of the outbox that PostgreSQL has refused to settle, whose notes are due (catalog/refused.h); with
-- slices, those of the slices that lock_refused_slices has locked. A row that is only to be settled is out of its key's
-- order: it has been sent. Of the others only the first of a key is tried, after all earlier rows of the outbox.
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned.
WITH wal AS MATERIALIZED (
    {claim_position}
), runs AS MATERIALIZED (
    SELECT relay_note.*, relay_noted AS relay_run, relay_noted_id AS relay_run_id, relay_noted_slice AS relay_run_slice,
           CASE WHEN NOT relay_is_sent THEN relay_noted_key END AS relay_run_key, true AS relay_is_first
    FROM (
        {due_notes}
          AND (state = 'unsettled' OR {is_head})
        ORDER BY due LIMIT {limit}
    ) relay_note
), {earlier}locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin, {columns}, {slice_of_row} AS relay_slice,
           relay_note.*
    FROM runs relay_note
    JOIN {outbox} ON {is_noted_row}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND NOT {is_held}
      AND {sink_is_here:$1}
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    FOR UPDATE OF {outbox_name} SKIP LOCKED
)
{result}
