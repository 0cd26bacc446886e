-- use: desk backlog
-- use: desk backlog_from if integer_ids with unsent_from
-- Counts the unsent rows, up to a limit: count(*) over ten million rows takes more than a second.
-- $1 int8 the limit.
SELECT count(*) FROM (SELECT FROM
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
