-- use: desk purge_page if has_sent_at !sequential_ids
-- Rows of the outbox that a purge would delete, after a place, a batch of them: the ctid and the place of each. Ids do
-- not grow, so the place is the ctid, too.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
SELECT ctid::text, ctid::text
FROM {outbox}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid)
    AND {sent_at} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND
{if own_mark}
{where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
{else}
{where}
{if !own_table}
 AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
{end}
{end}
ORDER BY ctid LIMIT {purge_rows}
