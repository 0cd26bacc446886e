-- use: desk count_purgeable_parked
-- Counts all parked rows that were sent after all and are old enough.
-- $1 int8 the age in ms.
SELECT count(*) FROM {parked} WHERE sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
