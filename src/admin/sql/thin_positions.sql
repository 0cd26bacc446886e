-- use: desk thin_positions if position
-- Deletes the progress that is not needed: of each slice the last of a minute stays, which says when rows were sent. Of
-- what is older than the retention and says nothing of the rows that there are, the last stays. Each call goes on where
-- the one before ended ("thinned" of the control table), because as long as a snapshot is held, who reads the progress
-- from its start passes all that was deleted. It looks at 5,000 of each slice, and at the oldest 100 if the first is
-- older than the retention.
-- $1 int8 the retention in ms; 0: none.
WITH thinned AS MATERIALIZED (
    SELECT value::jsonb AS at
    FROM {control} WHERE kind = 'setting' AND name = 'thinned' AND value::jsonb ->> 'era' = {era}
), looked AS MATERIALIZED (
    SELECT relay_slice, place, top, number, settled_at,
           lead(settled_at) OVER (PARTITION BY relay_slice ORDER BY top, number) AS next_at
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice)
    LEFT JOIN thinned ON true,
    LATERAL (
        SELECT ctid AS place, top, number, settled_at
        FROM {progress}
        WHERE slice = relay_slice
          AND (top, number) >= (coalesce((at -> 'tops' ->> relay_slice)::int8, '-9223372036854775808'::int8),
                                coalesce((at -> 'numbers' ->> relay_slice)::int8, 0))
        ORDER BY top, number LIMIT 5000
    ) pairs
), reached AS (
    SELECT DISTINCT ON (relay_slice) relay_slice, top, number
    FROM looked
    WHERE next_at IS NULL OR next_at >= clock_timestamp() - interval '{sent_within_s} s'
    ORDER BY relay_slice, top, number
), before AS (
    DELETE FROM {control} WHERE kind = 'setting' AND name = 'thinned' RETURNING 1
), noted AS (
    INSERT INTO {control} (kind, name, value)
    SELECT 'setting', 'thinned',
           jsonb_build_object('era', {era}, 'tops', jsonb_agg(top ORDER BY relay_slice),
                              'numbers', jsonb_agg(number ORDER BY relay_slice))::text
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice) LEFT JOIN reached USING (relay_slice)
    WHERE (SELECT count(*) FROM before) >= 0 -- the one to replace is gone first
    ON CONFLICT DO NOTHING
)
DELETE FROM {progress}
WHERE ctid = ANY (ARRAY(
    SELECT place
    FROM looked
    WHERE next_at < clock_timestamp() - interval '{sent_within_s} s'
      AND floor(extract(epoch FROM next_at) / {sent_within_s}) = floor(extract(epoch FROM settled_at) / {sent_within_s})
    UNION
    SELECT place
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice),
    LATERAL (
        SELECT settled_at AS first_at
        FROM {progress} WHERE slice = relay_slice ORDER BY top, number LIMIT 1
    ) first,
    LATERAL (
        SELECT place, top, lead(settled_at) OVER (ORDER BY top, number) AS next_at
        FROM (
            SELECT ctid AS place, top, number, settled_at
            FROM {progress} WHERE slice = relay_slice ORDER BY top, number LIMIT 100
        ) oldest
        WHERE $1::int8 > 0 AND first_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
    ) pairs
    WHERE next_at < clock_timestamp() - greatest($1::int8 * interval '1 millisecond', interval '{sent_within_s} s')
      AND top < (SELECT coalesce(min({id}), 9223372036854775807) FROM {outbox})))
