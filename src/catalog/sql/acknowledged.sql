-- What brokers have acknowledged: sink, destination, partition (-1: none), the destination's identity, the highest
-- position, and when the first one was acknowledged, in ms since 1970.
SELECT about ->> 'sink', about ->> 'destination', about ->> 'partition', about ->> 'identity', about ->> 'position',
       about ->> 'first_ms'
FROM (SELECT value::json AS about FROM {control} WHERE kind = 'setting' AND name LIKE 'acknowledged %') kept
