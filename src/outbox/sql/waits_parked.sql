-- Part of claimed_rows for parked rows: their attempts, since when they have waited, and when `replay` made this copy.
, attempts,
(extract(epoch FROM clock_timestamp() - parked_at) * 1000)::int8 AS waited_ms,
replayed_at
