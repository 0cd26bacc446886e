-- Whether there are unsent rows, locked ones included, or parked rows whose time has come; and the number of parked
-- and dead rows, counted up to 1,000. A row without an id can never be claimed: a drain counts it without waiting for
-- it. When the outbox is empty, a row whose earlier row is gone without having freed it becomes due here, because a
-- drain does not wait for the janitor.
-- $1 text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH unsent AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM {outbox} WHERE {claimable} AND {has_id}) AS has_rows
), adopted AS (
    {adopt_behind} AND NOT (SELECT has_rows FROM unsent)
    RETURNING 1
)
SELECT (SELECT has_rows FROM unsent)
       OR EXISTS (
           SELECT FROM {parked} head
           WHERE due <= now() AND sent_at IS NULL AND state <> 'dead' AND {is_head}
             AND coalesce(waits_for <> ALL ($1::text[]), true))
       OR EXISTS (SELECT FROM adopted),
       (SELECT count(*) FROM (SELECT FROM {parked} WHERE sent_at IS NULL LIMIT 1000) counted)
           + {lost_rows}
