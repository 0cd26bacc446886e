-- Whether a row is unsent, with on_sent = "position", which passes rows with notes (catalog/refused.h).
({sent_at} IS NULL AND NOT {is_not_noted}
 OR (SELECT {is_unsent_at} FROM (SELECT {slice_of_row} AS relay_slice) relay_row, {progress_at}))
