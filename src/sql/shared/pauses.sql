-- use: lane pauses
-- Part and statement: what is paused, a pause a line (source/pauses.h); NULL: nothing.
SELECT string_agg(kind || ' ' || name, E'\n' ORDER BY set_at, kind, name) FROM {control} WHERE {is_pause}
