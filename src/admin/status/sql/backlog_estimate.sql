-- use: figures backlog_estimate if estimable
-- use: desk backlog_estimate_from if estimable with unsent_from
-- section: the estimated backlog
-- without: {"backlog_estimate": null}
-- About how many rows are unsent, to three digits, where counting them stopped. The ids of each slice are divided into
-- equal parts, whose borders differ from slice to slice. The first rows of each part are counted; where there are more,
-- the distance of their ids, here and in the next part, tells how many. There are never more than the table has by
-- PostgreSQL's statistics, because ids may have a wide gap. All this costs about what counting up to the limit costs.
-- $1 jsonb the document, with backlog, backlog_is_lower_bound and _count_max.
WITH parts AS (
    SELECT relay_slice, part, counted, counted < relay_most AS is_whole, relay_next - relay_start AS width,
           CASE WHEN counted < relay_most THEN counted / nullif(relay_next - relay_start, 0)::numeric
                ELSE (counted - 1) / nullif(last - relay_start, 0) END AS density
    FROM (
        SELECT {if by_slice}{slices}, greatest(512 / {slices}, 8){else}1, 512{end},
               {if unsent_from}{unsent_from}{else}'-9223372036854775808'::int8{end}
    ) chosen (slices, parts, relay_least),
    LATERAL (SELECT greatest({count_max} / (slices * parts), 10) AS relay_most) most,
    generate_series(0, slices - 1) relay_slices (relay_slice),
        {if position}
        {progress_at},
        {end}
    LATERAL (
        SELECT {id} AS lowest
        FROM {outbox}
        WHERE {if position}{is_unsent_at}{else}{unsent}{end}
          {if by_slice}
          AND ({slice_of_row}, {id}) >= (relay_slice, {if position}relay_from{else}relay_least{end})
              AND {slice_of_row} < relay_slice + 1
        ORDER BY {slice_of_row}, {id} LIMIT 1
          {else}
          AND {id} >= relay_least
        ORDER BY {id} LIMIT 1
          {end}
    ) first,
    LATERAL (
        SELECT {id} AS highest
        FROM {outbox}
        WHERE {if position}{is_unsent_at}{else}{unsent}{end}
          {if by_slice}
          AND ({slice_of_row}, {id}) >= (relay_slice, {if position}relay_from{else}relay_least{end})
              AND {slice_of_row} < relay_slice + 1
        ORDER BY {slice_of_row} DESC, {id} DESC LIMIT 1
          {else}
          AND {id} >= relay_least
        ORDER BY {id} DESC LIMIT 1
          {end}
    ) last,
    generate_series(0, parts) part,
    LATERAL (SELECT highest::numeric - lowest AS span, part - relay_slice / slices::numeric AS border) of_part,
    LATERAL (
        SELECT (lowest + trunc(span * greatest(border, 0) / parts))::int8 AS relay_start,
               (lowest + trunc(span * least(border + 1, parts) / parts))::int8 AS relay_next
    ) borders,
    LATERAL (
        SELECT count(*) AS counted, max(id)::numeric AS last
        FROM (
            SELECT {id} AS id
            FROM {outbox}
            WHERE {if position}{is_unsent_at}{else}{unsent}{end}
              {if by_slice}
              AND ({slice_of_row}, {id}) >= (relay_slice, relay_start)
              AND ({slice_of_row}, {id}) < (relay_slice, relay_next)
            ORDER BY {slice_of_row}, {id} LIMIT relay_most
              {else}
              AND {id} >= relay_start AND {id} < relay_next
            ORDER BY {id} LIMIT relay_most
              {end}
        ) first
    ) rows
    WHERE ($1::jsonb ->> 'backlog_is_lower_bound')::bool
)
SELECT jsonb_build_object('backlog_estimate', CASE WHEN rows IS NOT NULL THEN
    greatest(round(about, least(2 - floor(log(about))::int4, 0)), ($1::jsonb ->> 'backlog')::numeric) END)
FROM (
    SELECT sum(CASE WHEN is_whole THEN counted ELSE width * (density + following) / 2 END) AS rows
    FROM (
        SELECT *, coalesce(lead(density) OVER (PARTITION BY relay_slice ORDER BY part), density) AS following
        FROM parts
    ) beside
) summed, LATERAL (
    SELECT greatest(1, least(
               rows,
               {if partitioned}
               (SELECT sum(CASE WHEN c.reltuples > 0 THEN c.reltuples ELSE pg_relation_size(c.oid) / 64 END)
                FROM {partitions} JOIN pg_catalog.pg_class c USING (oid))::numeric))
               {else}
               CASE WHEN reltuples > 0 THEN greatest(reltuples, pg_stat_get_live_tuples(oid))
                    ELSE pg_relation_size(oid) / 64 END::numeric))
               {end}
               AS about
    FROM pg_catalog.pg_class
    WHERE oid = to_regclass({outbox_text})
) of_table
