-- What brokers have acknowledged: sink, destination, partition (-1: none), the destination's identity, and the highest
-- position.
SELECT about ->> 'sink', about ->> 'destination', about ->> 'partition', about ->> 'identity', about ->> 'position'
FROM (SELECT value::json AS about FROM {control} WHERE kind = 'setting' AND name LIKE 'acknowledged %') kept
