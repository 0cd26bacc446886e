-- Part: the unsent rows, of which the statement takes {count_max}: with order = "key" from each slice's lowest id on,
-- if it is known, because that is cheaper than a scan of all of an index.
{if position}
generate_series(0, {slices} - 1) relay_slices (relay_slice),
{progress_at},
LATERAL (
    SELECT *
    FROM {outbox}
    WHERE ({slice_of_row}, {id}) >= (relay_slice, relay_from) AND {slice_of_row} < relay_slice + 1
      AND {if partitioned}{id} >= relay_from AND {end}{is_unsent_at} AND {is_not_noted}
    ORDER BY {slice_of_row}, {id} LIMIT {count_max}
) {outbox_name}
{else}
{if seeks_slices}
generate_series(0, {slices} - 1) relay_slices (relay_slice),
LATERAL (
    SELECT *
    FROM {outbox}
    WHERE {unsent} AND {is_not_noted} AND ({slice_of_row}, {id}) >= (relay_slice, {unsent_from})
      AND {slice_of_row} < relay_slice + 1
    ORDER BY {slice_of_row}, {id} LIMIT {count_max}
) {outbox_name}
{else}
(
    SELECT *
    FROM {outbox}
    WHERE {unsent} AND {is_not_noted} AND {if seeks_from}{id} >= {unsent_from}{else}true{end}
) {outbox_name}
{end}
{end}
