-- use: desk backlog_topics
-- use: desk backlog_topics_from if integer_ids with unsent_from
-- The most frequent topics of unsent rows, cut, and the number of rows of each.
-- $1 int8 how many rows are looked at.
SELECT topic, count(*)
FROM (SELECT left({topic}::text, 256) AS topic FROM
{if seeks_slices}
generate_series(0, {slices} - 1) relay_slices (relay_slice),
LATERAL (
    SELECT *
    FROM {outbox}
    WHERE {unsent} AND {is_not_noted} AND ({slice_of_row}, {id}) >= (relay_slice, {unsent_from})
        AND {slice_of_row} < relay_slice + 1
    ORDER BY {slice_of_row}, {id} LIMIT $1::int8
) {outbox_name}
{else}
(SELECT * FROM {outbox} WHERE {unsent} AND {is_not_noted}
    AND {if seeks_from}{id} >= {unsent_from}{else}true{end}) {outbox_name}
{end}
 LIMIT $1::int8) counted
WHERE topic IS NOT NULL
GROUP BY topic
ORDER BY 2 DESC LIMIT 1000
