-- use: lane lock
-- Takes the table lock that the settle needs, before anything is published. Otherwise a CREATE INDEX could lock the
-- table in between, the settle would time out, and the batch would be repeated.
LOCK TABLE ONLY {outbox}, ONLY {parked} IN ROW EXCLUSIVE MODE
