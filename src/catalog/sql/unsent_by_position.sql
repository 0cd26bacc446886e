-- Whether a row is unsent, with on_sent = "position".
(SELECT {is_unsent_at} FROM (SELECT {slice_of_row} AS relay_slice) relay_row, {progress_at})
