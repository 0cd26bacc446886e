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
            SELECT seq AS relay_noted, id AS relay_noted_id, identity AS relay_noted_identity,
                   attempts AS relay_attempts, parked_at AS relay_noted_at, state = 'unsettled' AS relay_is_sent,
                   {slice_of_parked} AS relay_noted_slice,
                   {if keyed}{key_text}{else}NULL::text{end} AS relay_noted_key
            FROM {parked} head
            WHERE state IN ('refused', 'unsettled') AND due <= statement_timestamp()
              AND {if by_slice}{slice_of_parked} = ANY (current_setting('outbox_relay.slices')::int4[]){else}true{end}
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
