-- Rows of the outbox that a purge would delete, after a place, a batch of them: the ctid and the place of each. Ids do
-- not grow, so the place is the ctid, too.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
SELECT ctid::text, ctid::text
FROM {outbox}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid) AND {sent_at} < {cutoff} AND {where_of_sent}
ORDER BY ctid LIMIT {purge_rows}
