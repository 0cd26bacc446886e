-- use: lane end_notes
-- Deletes notes, and makes the next rows of their keys due. $1 int8[] their seq.
WITH touched AS (
    DELETE FROM {parked}
    WHERE seq = ANY ($1::int8[])
    RETURNING seq, {if keyed}{if key_is_bytes}encode(key, 'hex'){else}key::text{end}{else}NULL::text{end} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
