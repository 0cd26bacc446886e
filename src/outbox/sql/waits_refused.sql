-- Part of claimed_rows for refused rows: the same, and their notes.
, relay_attempts AS attempts,
(extract(epoch FROM clock_timestamp() - relay_noted_at) * 1000)::int8 AS waited_ms,
NULL::timestamptz AS replayed_at, relay_noted, relay_is_sent
