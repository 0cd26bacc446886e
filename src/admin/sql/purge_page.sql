-- use: desk purge_page if has_sent_at
-- Of a page of the outbox the rows that a purge would delete, and the last row: the ctid (in a partitioned table the
-- id) and the place of each, whether it is old enough, and whether the page has rows that were not sent by a relay. A
-- place is the id, or, where ids do not grow, the ctid. Of ids that grow a page has every row, because any number of
-- unsent ones may lie before those that are to be deleted.
-- $1 int8 the age in ms; $2 text the place ('': from the first row on).
{if sequential_ids}
SELECT relay_row::text, relay_id::text, relay_until > relay_sent_at, relay_has_others
FROM (
    SELECT relay_row, relay_id, relay_sent_at, relay_until,
           bool_or(relay_sent_at IS NULL) OVER () AS relay_has_others,
           max(relay_id) OVER () AS relay_last
    FROM (
        SELECT {row_of_purge} AS relay_row, {id} AS relay_id,
               CASE WHEN {was_sent} THEN {sent_time} END AS relay_sent_at,
               now() - $1::int8 * interval '1 millisecond' AS relay_until
        FROM {purged_table} {outbox_name}
        WHERE ($2::text = '' OR {id} > nullif($2::text, '')::{id_type}){if partitioned} AND {partitions_noted}{end}
        ORDER BY {id} LIMIT {purge_rows}
    ) page
) judged
WHERE relay_until > relay_sent_at OR relay_id = relay_last
ORDER BY judged.relay_id -- not its text
{else}
SELECT ctid::text, ctid::text, true, false
FROM {purged_table} {outbox_name}
WHERE ($2::text = '' OR ctid > nullif($2::text, '')::tid)
  AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
ORDER BY ctid LIMIT {purge_rows}
{end}
