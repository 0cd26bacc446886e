-- use: desk acknowledged
-- What brokers have acknowledged: sink, destination, partition (-1: none), the destination's identity, the highest
-- position, and when the first one was acknowledged, in ms since 1970. The last row, without a sink, has the time when
-- relays came to know the table: what is remembered may be younger.
SELECT about ->> 'sink', about ->> 'destination', about ->> 'partition', about ->> 'identity', about ->> 'position',
       about ->> 'first_ms'
FROM (SELECT value::json AS about FROM {control} WHERE kind = 'setting' AND name LIKE 'acknowledged %') kept
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, (extract(epoch FROM min(set_at)) * 1000)::int8::text FROM {control}
