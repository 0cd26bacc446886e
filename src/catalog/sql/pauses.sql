-- Part and statement: what is paused, one item a line (catalog/pauses.h); NULL: nothing.
SELECT string_agg(waits_for, E'\n' ORDER BY seq) FROM {parked} WHERE {is_pause}
