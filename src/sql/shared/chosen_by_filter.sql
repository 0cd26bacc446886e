-- Part: "chosen", a page of the rows that fit a filter, among the dead rows or among all; "missing_words" is NULL.
missing_words AS (
    SELECT NULL::text AS words
), chosen AS MATERIALIZED (
    SELECT seq AS chosen_seq
    FROM {parked}
    WHERE sent_at IS NULL
      {if picks}
      {if by_topic}
      AND (state = 'dead' OR {is_declined})
      {else}
      AND state = 'dead'
      {end}
      {else}
      AND true
      {end}
      AND seq > $1::int8 AND seq < $2::int8
      AND ($3::text IS NULL OR type::text = $3)
      AND ($4::text IS NULL OR topic::text = $4)
      AND ($5::text IS NULL OR topic::text ~ $5)
      AND ($6::timestamptz IS NULL OR parked_at >= $6::timestamptz)
    ORDER BY seq {if newest_first}DESC{else}ASC{end} LIMIT {page_rows}
    {if changed}
    FOR UPDATE
    {end}
)
