-- use: lane sent_parked if marking !in_place
-- Settles parked rows: marks them, and keeps the values with which they were sent (kept_as_sent.sql).
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    UPDATE {parked} relay_kept
    SET state = 'sent', sent_at = clock_timestamp(), due = NULL, error = NULL, ({moved_names}, more_headers, raw,
        identity) = (
        SELECT {moved_names}, more_headers, raw, identity FROM (SELECT relay_kept.*) kept WHERE raw IS NULL
        UNION ALL
        SELECT {moved_columns}, {more_headers}, NULL, relay_kept.identity
        FROM (SELECT (json_populate_record(NULL::{outbox}, relay_kept.raw::json)).*) AS {outbox_name}
        WHERE relay_kept.raw IS NOT NULL
    )
    WHERE ctid = ANY ($1::tid[])
    RETURNING seq, waits_for AS reached, {if keyed}{if key_is_bytes}encode(key,
        'hex'){else}key::text{end}{else}NULL::text{end} AS left_key
), freed AS (
    {free_next}
), released AS (
    {release}
)
{count_settled}
