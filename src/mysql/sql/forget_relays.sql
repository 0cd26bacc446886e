-- What relays have said of themselves that ended without taking it back.
DELETE FROM {control} WHERE kind = 'setting' AND name LIKE 'relay %' AND set_at < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE
