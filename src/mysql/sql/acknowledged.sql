-- What brokers have acknowledged; and since when relays know the table, in ms since 1970.
SELECT c.value FROM {control} c WHERE c.kind = 'setting' AND c.name LIKE 'acknowledged %';
SELECT CAST(UNIX_TIMESTAMP(MIN(c.set_at)) * 1000 AS SIGNED) FROM {control} c
