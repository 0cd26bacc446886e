-- use: lane sent_parked if !marking !in_place
-- use: lane sent_parked if in_place
-- Settles parked rows: deletes them.
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    DELETE FROM {parked}
    WHERE ctid = ANY ($1::tid[])
    RETURNING seq, waits_for AS reached, {if keyed}{if key_is_bytes}encode(key,
        'hex'){else}key::text{end}{else}NULL::text{end} AS left_key
), freed AS (
    {free_next}
), released AS (
    {release}
)
{count_settled}
