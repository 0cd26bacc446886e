-- use: lane note
-- Writes notes for rows of the outbox that PostgreSQL refuses to settle. A note is a row of the parked table without a
-- payload: it keeps its row out of the claims, and later rows of its key wait behind it (catalog/refused.h). A row
-- whose version has changed meanwhile gets no note: it is claimed again. Nor does one that others have locked, or have
-- written a note of. Raises an error when there would be too many notes, and with on_sent = "position", where the slice
-- would pass the row, also when a row gets no note.
-- $1 tid[] rows; $2 int4 their number; $3 text[] why; $4 int4[] attempts; $5 int8[] ms until the next try; $6 text[]
-- what is left to do ("refused": to publish and to settle, "unsettled": to settle); $7 text[] the ids and $8 int8[] the
-- xmin of the rows (0: not known), because a row need not be locked: after COMMIT was refused, another one may lie in
-- its place with its id.
WITH given AS (
    SELECT *
    FROM ROWS FROM (unnest($1::tid[]), unnest($3::text[]), unnest($4::int4[]), unnest($5::int8[]), unnest($6::text[]),
                    unnest($7::text[]), unnest($8::int8[]))
        AS g (relay_row, error, attempts, wait_ms, state, relay_id, version)
), refused AS (
    SELECT {noted_columns}, {identity} AS identity, ctid AS relay_row, xmin AS relay_xmin
    FROM {outbox}
    WHERE ctid = ANY ($1::tid[]) AND {unsent} AND {is_not_noted}
    FOR NO KEY UPDATE SKIP LOCKED
), noted AS (
    INSERT INTO {parked} ({noted_names}, identity, error, attempts, state, due)
    SELECT {noted_names}, identity, g.error, g.attempts, g.state,
           clock_timestamp() + g.wait_ms * interval '1 millisecond'
    FROM refused JOIN given g USING (relay_row)
    WHERE refused.id::text = g.relay_id AND g.version IN (0, relay_xmin::text::int8)
    RETURNING 1
)
SELECT CASE WHEN count(*) + $2::int4 > {notes_max}
                THEN (count(*) || ' rows of the outbox are refused, too many for notes')::int4
            {if position}
            WHEN (SELECT count(*) FROM noted) <> $2::int4
                THEN ('noted ' || (SELECT count(*) FROM noted) || ' rows instead of ' || $2::int4)::int4
            {end}
            ELSE 0 END
FROM (SELECT FROM {parked} WHERE {is_note} LIMIT {notes_max}) notes
