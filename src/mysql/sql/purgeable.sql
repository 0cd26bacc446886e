-- Rows of the outbox that were sent so many seconds ago.
SELECT {id} FROM {outbox} o FORCE INDEX ({claim_index}) WHERE {sent_at} < {now} - INTERVAL {age_s} SECOND LIMIT {limit}
