-- The shape of the tables (shape.sql), read after a lock that keeps it to the end of the transaction.
SELECT ({shape})
FROM (SELECT count(*) FROM (SELECT FROM {outbox} LIMIT 0) none) locked
