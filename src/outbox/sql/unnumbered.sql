-- use: lane unnumbered if numbered
-- The slices with unsent rows that have no number yet; -1: such rows without a key. If there are none, it is noted that
-- the rows which were there before the numbers have theirs (number.sql). The note is about this column: dropped and
-- added again, it is another one.
WITH relay_found AS MATERIALIZED (
    SELECT relay_slice
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice)
    WHERE EXISTS (SELECT FROM {outbox} WHERE {slice_of_row} = relay_slice AND {id} IS NULL AND {unsent})
    UNION ALL
    SELECT -1 WHERE EXISTS (SELECT FROM {outbox} WHERE {slice_of_row} IS NULL AND {id} IS NULL AND {unsent})
), relay_noted AS (
    INSERT INTO {control} (kind, name, value)
    SELECT 'setting', note, 'all' FROM {numbers_note} WHERE note IS NOT NULL AND NOT EXISTS (SELECT FROM relay_found)
    ON CONFLICT DO NOTHING
)
SELECT relay_slice FROM relay_found
