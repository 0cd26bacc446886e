-- Deletes the notes that are due and whose rows are not unsent any more, and makes the next rows of their keys due.
WITH touched AS (
    DELETE FROM {parked}
    WHERE seq = ANY (ARRAY(
        SELECT relay_noted
        FROM ({due_notes}) relay_note
        WHERE NOT EXISTS (SELECT FROM {outbox} WHERE {is_noted_row})))
    RETURNING seq, {left_key} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
