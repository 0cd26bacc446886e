-- Part of a FROM with on_sent = "position": the unsent rows of all slices.
generate_series(0, {slices} - 1) relay_slices (relay_slice),
{progress_at},
LATERAL (
    SELECT *
    FROM {outbox}
    WHERE ({slice_of_row}, {id}) >= (relay_slice, relay_from) AND {slice_of_row} < relay_slice + 1
      AND {if partitioned}{id} >= relay_from AND {end}{is_unsent_at}
    ORDER BY {slice_of_row}, {outbox_name}.{id}
) {outbox_name}
