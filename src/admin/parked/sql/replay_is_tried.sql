-- Part: the first copy of a key is tried, and the others follow it, like rows that were parked together.
(key IS NULL OR row_number() OVER (PARTITION BY {key_text:key} ORDER BY id) = 1) AND {is_head}
