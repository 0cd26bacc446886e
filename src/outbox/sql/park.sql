-- use: lane park if !in_place
-- Parks rows: moves them from the outbox. Of the rows that wait for one destination one is due, the probe; a
-- destination that has a probe gets no second one.
-- $1 tid[] rows; $2 int4 their number; $3 text[] why; $4 int4[] attempts; $5 int8[] ms until the next attempt (-1:
-- dead, -2: waits for an earlier row of its key); $6 text[] the destination that the row waits for (NULL: none).
-- With on_sent = "position" the claim locks no row, and another row may have its place: $7 text[] the ids.
WITH given AS (
    {given}
), gone AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY ($1::tid[]){if position} AND {id}::text = ANY ($7::text[]){end}
    RETURNING {moved_columns}, {more_headers} AS more_headers, {not_before} AS not_before, {identity} AS identity,
              ctid AS relay_row
), touched AS (
    INSERT INTO {parked} ({moved_names}, more_headers, not_before, identity, error, attempts, waits_for, state, due)
    SELECT {moved_names}, more_headers, not_before, identity, g.error, g.attempts, g.waits_for,
           CASE WHEN g.state = 'retry' AND not_before > clock_timestamp() THEN 'scheduled' ELSE g.state END,
           CASE WHEN g.waits_for IS NULL OR NOT EXISTS (
               SELECT FROM {parked} head
               WHERE head.waits_for = g.waits_for AND head.due IS NOT NULL AND head.sent_at IS NULL
                   AND {is_head}) THEN g.due END
    FROM gone JOIN given g USING (relay_row)
    {if partitioned}
    JOIN unnest($7::text[]) WITH ORDINALITY ids (relay_id, place)
        ON ids.relay_id = gone.id::text AND ids.place = g.place -- two partitions may have one ctid
    {end}
    ORDER BY g.place
    RETURNING 1
)
{count_settled}
