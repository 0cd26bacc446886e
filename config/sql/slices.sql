-- Changes the number of slices. Relays with the old number then stop.
DELETE FROM {slice_table};
INSERT INTO {slice_table} SELECT slice, {slices} FROM pg_catalog.generate_series(0, {last_slice}) slice;
