-- Part of claimed_rows for parked rows: their attempts, since when they have waited, when `replay` made this copy, why
-- a row that is kept as a whole is not sent, and whether the row of a copy is known.
, attempts,
(extract(epoch FROM clock_timestamp() - parked_at) * 1000)::int8 AS waited_ms,
replayed_at, relay_kept_problem, {is_known:copy.ctid = relay_row} AS is_known
