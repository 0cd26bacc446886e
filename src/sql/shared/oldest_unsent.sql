-- Part: the values of the oldest unsent rows, $1 of them (16 with few_rows), or of each slice with order = "key".
SELECT {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type, {payload} AS payload,
       {headers} AS headers, {created_at} AS created_at
FROM
    {if by_slice}
    generate_series(0, {slices} - 1) relay_slices (relay_slice),
    {if position}
    {progress_at},
    {end}
    LATERAL (
        SELECT *
        FROM {outbox}
        WHERE {if position}{is_unsent_at}{else}{unsent}{end} AND {is_not_noted}
          {if position}
          {if partitioned}
          AND {id} >= relay_from
          {end}
          AND ({slice_of_row}, {id}) >= (relay_slice, relay_from)
          {else}
          {if unsent_from}
          AND ({slice_of_row}, {id}) >= (relay_slice, {unsent_from})
          {else}
          AND {slice_of_row} >= relay_slice
          {end}
          {end}
          AND {slice_of_row} < relay_slice + 1
        ORDER BY {slice_of_row}, {id} LIMIT {if few_rows}16{else}$1::int8{end}
    ) {outbox_name}
    {else}
    (
        SELECT *
        FROM {outbox}
        WHERE {unsent} AND {is_not_noted} AND {if seeks_from}{id} >= {unsent_from}{else}true{end}
        ORDER BY {id} LIMIT {if few_rows}16{else}$1::int8{end}
    ) {outbox_name}
    {end}
