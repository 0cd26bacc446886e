-- Part: "chosen", a page of the rows that fit a filter, among all rows (`dead list`), or among the dead ones. A row
-- that waits for a broker is sent once that has mended; one that waits for a configuration may have a wrong topic, by
-- which it is then named.
refusal AS (
    SELECT NULL::text AS refused
), chosen AS MATERIALIZED (
    SELECT seq AS chosen_seq
    FROM {parked}
    WHERE sent_at IS NULL
      {if !newest_first}
      AND coalesce({$all}::text, {$type}::text, {$topic}::text, {$topic_regex}::text, {$since}::text) IS NOT NULL
      AND (state = 'dead'{if $topic} OR {is_declined}{end}{if $topic_regex} OR {is_declined}{end})
      {end}
      AND seq {if newest_first}< coalesce({$place}::int8, {$high}::int8){else}> coalesce({$place}::int8, {$low}::int8)
      AND seq < {$high}::int8{end}
      AND ({$type}::text IS NULL OR type::text = {$type}::text)
      AND ({$topic}::text IS NULL OR topic::text = {$topic}::text)
      AND ({$topic_regex}::text IS NULL OR topic::text ~ {$topic_regex}::text)
      AND ({$since}::timestamptz IS NULL OR parked_at >= {$since}::timestamptz)
    ORDER BY seq {if newest_first}DESC{else}ASC{end} LIMIT {page_rows}
    {if changes}
    {if !$dry_run}
    FOR UPDATE
    {end}
    {end}
)
