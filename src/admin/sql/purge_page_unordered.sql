-- The same as purge_page.sql for ids that do not grow: the place of a row is its ctid.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
SELECT ctid::text, ctid::text
FROM {outbox}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid) AND {sent_at} < {cutoff} AND {where}
ORDER BY ctid LIMIT {purge_rows}
