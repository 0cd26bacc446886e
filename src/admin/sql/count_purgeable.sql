-- Counts all sent rows of the outbox that are old enough.
-- $1 int8 the age in ms.
SELECT count(*) FROM {outbox} WHERE {sent_at} < {cutoff} AND {where_of_sent}
