-- The shape of the tables (shape.sql), read after a lock that keeps it to the end of the transaction; and the backend
-- that answers, which a load balancer may change.
SELECT ({shape}), pg_backend_pid()
FROM (SELECT count(*) FROM (SELECT FROM {outbox} LIMIT 0) none) locked
