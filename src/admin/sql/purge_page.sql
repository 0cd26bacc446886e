-- Rows of the outbox that a purge would delete, after a place, a batch of them: the ctid and the place of each, which
-- is its id.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
SELECT relay_row::text, relay_id::text
FROM (
    SELECT ctid AS relay_row, {id} AS relay_id, {sent_at} AS relay_sent_at
    FROM {outbox}
    WHERE ($2::text = '' OR {id} > nullif($2::text, '')::{id_type}) AND {where_of_sent}
    ORDER BY {id} LIMIT {purge_rows}
) oldest
WHERE relay_sent_at < {cutoff}
