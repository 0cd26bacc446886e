-- use: lane sent_parked
-- Settles parked rows: deletes them, or marks them and keeps the values with which they were sent. Those of a row that
-- is kept as a whole were computed for the claim of this transaction, and are kept from now on: what is configured
-- later must not change what a replay sends. A row that stays in the outbox is marked there (sent_copied.sql).
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    {if in_place}
    DELETE FROM {parked}
    {else}
    {if keeps_sent}
    UPDATE {parked} relay_kept
    SET state = 'sent', sent_at = clock_timestamp(), due = NULL, error = NULL,
        ({moved_names}, more_headers, raw, identity) = (
            SELECT {moved_names}, more_headers, raw, identity FROM (SELECT relay_kept.*) kept WHERE raw IS NULL
            UNION ALL
            SELECT {moved_columns}, {more_headers}, NULL, relay_kept.identity
            FROM (SELECT (json_populate_record(NULL::{outbox}, relay_kept.raw::json)).*) AS {outbox_name}
            WHERE relay_kept.raw IS NOT NULL
        )
    {else}
    DELETE FROM {parked}
    {end}
    {end}
    WHERE ctid = ANY ($1::tid[])
    RETURNING seq, waits_for AS reached, {if keyed}{key_text}{else}NULL::text{end} AS left_key
), freed AS (
    {free_next}
), released AS (
    {release}
)
{count_settled}
