-- Part of claimed_rows: a payload as text, if it is not converted in vain. After the last row that fits, large values
-- are not converted any more: 1 MiB of jsonb takes 2 ms. A value that is small on disk can take seconds, so none is
-- converted once the claim has lasted 500 ms; and after a claim that took too long, only the smallest are. The row is
-- then claimed alone. Values above 2,000 bytes are TOASTed: compressed or stored out of line.
CASE WHEN pg_column_size(payload) <= CASE WHEN {is_careful} THEN 100 ELSE 2000 END
       OR NOT {is_careful} AND clock_timestamp() < statement_timestamp() + interval '500 ms'
          AND {taken_bytes} <= {batch_bytes}
     THEN payload::text END
