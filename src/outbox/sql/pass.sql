-- use: lane pass if by_slice position
-- Moves the positions of the slices of a claim over the rows that it has taken, which are sent or parked now. Progress
-- is appended, because each reader of a row that is updated would have to pass its dead versions as long as a snapshot
-- is held.
--
-- A segment is a last id and a snapshot: a row up to that id was sent if the snapshot sees its transaction. The claim's
-- own snapshot becomes the segment up to the last row. Older segments keep what lies above it, because a limit may end
-- among late rows. No row below the stable id can come any more, and the low id never lies above it
-- (docs/internals/position.md).
-- $1 int4[] slices; $2 int4 their number; $3 int8[] the last id of each; $4 int4[] not 0: the claim saw the slice to
-- its end; $5 int8 the stable id.
WITH passed AS (
    SELECT relay_slice, greatest(relay_top, relay_last) AS top, relay_number + 1 AS number,
           greatest(relay_from, least($5::int8, relay_end, 9223372036854775806) + 1) AS low, relay_end,
           relay_ends, relay_snapshots
    FROM ROWS FROM (unnest($1::int4[]), unnest($3::int8[]), unnest($4::int4[]))
             AS given (relay_slice, relay_last, relay_is_end),
         {progress_at},
         LATERAL (
             SELECT CASE WHEN relay_is_end <> 0 THEN greatest(relay_top, relay_last) ELSE relay_last END AS relay_end
         ) ends
), touched AS (
    INSERT INTO {progress} (slice, top, number, low, ends, snapshots)
    SELECT relay_slice, top, number, low,
           relay_end || ARRAY(SELECT older FROM unnest(relay_ends) older WHERE older > relay_end),
           current_setting('outbox_relay.claimed')::pg_snapshot || ARRAY(
               SELECT snapshot
               FROM unnest(relay_ends, relay_snapshots) WITH ORDINALITY AS segment (older, snapshot, place)
               WHERE older > relay_end
               ORDER BY place)
    FROM passed
    RETURNING 1
)
{count_settled}
