-- use: figures settled
-- section: the number of rows settled
-- How many rows of the outbox were ever settled, by PostgreSQL's statistics. Where no relay says how many it sends,
-- what has been added since the last look is the rate.
-- $1 jsonb the document, with _before: _settled, an array of this number and when it was read, of the last look.
SELECT jsonb_build_object(
    'time', to_char(at AT TIME ZONE 'UTC', {time_format}),
    '_settled', jsonb_build_array(settled, extract(epoch FROM at)),
    'rate_per_second', coalesce(($1::jsonb ->> 'rate_per_second')::numeric, round(
        (settled - ($1::jsonb #>> '{_before, _settled, 0}')::numeric)
        / nullif(extract(epoch FROM at)::numeric - ($1::jsonb #>> '{_before, _settled, 1}')::numeric, 0), 6)))
FROM (
    SELECT clock_timestamp() AS at, (
        {if position}
        SELECT {highest_top}) AS settled
        {else}
        SELECT {if marking}n_tup_upd{else}n_tup_del{end}
        FROM pg_catalog.pg_stat_user_tables
        WHERE relid = to_regclass({outbox_text})) AS settled
        {end}
) now
