-- use: desk count_unsent
-- Counts the unsent rows, up to a limit, and the parked ones that will be tried again. A row with a note counts once.
SELECT (SELECT count(*) FROM (
            SELECT FROM {if position}{position_rows}{else}{outbox} WHERE {unsent}{end} LIMIT {unsent_max}) unsent)
       + (SELECT count(*)
          FROM {parked} parked
          WHERE sent_at IS NULL AND state <> 'dead' AND NOT {is_note})
