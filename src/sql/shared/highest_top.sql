-- Part with on_sent = "position": the highest id that any slice has passed; NULL: none.
(SELECT max(newest.top)
 FROM generate_series(0, {slices} - 1) relay_slices (relay_slice),
      LATERAL (
          SELECT progress.top
          FROM {progress} progress
          WHERE progress.slice = relay_slice
          ORDER BY progress.top DESC LIMIT 1
      ) newest)
