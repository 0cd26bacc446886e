-- use: lane end_notes
-- use: lane end_notes_of_none with of_none
-- Deletes notes, those that are given or those that are due and whose rows are not unsent any more; and makes the next
-- rows of their keys due.
-- $1 int8[] their seq.
WITH touched AS (
    DELETE FROM {parked}
    {if of_none}
    WHERE seq = ANY (ARRAY(
        SELECT relay_noted
        FROM (
            {due_notes}
        ) relay_note
        WHERE NOT EXISTS (
            SELECT FROM {outbox}
            WHERE {slice_of_row} = relay_noted_slice AND {id} = relay_noted_id
              AND coalesce(relay_noted_identity, {identity}) = {identity} AND {unsent})))
    {else}
    WHERE seq = ANY ($1::int8[])
    {end}
    RETURNING seq, {if keyed}{key_text}{else}NULL::text{end} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
