-- Part: the oldest unsent rows of each slice, under its name. With a range in place of an
-- equation, only the claim's index has the rows in the order of slices and ids; the limit of each scan keeps the
-- planner from joining them into one.
-- $1 int8 how many of each slice.
generate_series(0, {slices} - 1) relay_slices (relay_slice),
LATERAL (
    SELECT *
    FROM {outbox}
    WHERE {claimable} AND {is_from_slice} AND {slice_of_row} < relay_slice + 1
    ORDER BY {slice_of_row}, {id} LIMIT $1::int8
) {outbox_name}
