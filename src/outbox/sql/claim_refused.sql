-- use: lane claim_refused with levels from_refused
-- use: lane first_refused_row with first from_refused
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
),
{if keyed}
{earlier}
{end}
locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin,
           {row_values},
           {slice_of_row} AS relay_slice, relay_note.*
    FROM runs relay_note
    JOIN {outbox} ON {slice_of_row} = relay_noted_slice AND {id} = relay_noted_id
        AND coalesce(relay_noted_identity, {identity}) = {identity} AND {unsent}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND NOT {if keyed}{is_held}{else}false{end}
      AND ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0)
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    FOR UPDATE OF {outbox_name} SKIP LOCKED
)
{claimed_rows}
