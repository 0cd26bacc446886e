-- use: lane adopt_behind
-- use: desk adopt_behind
-- Makes the first row of a key due when the row that it waited for is gone. Without order = "key" no row waits for
-- another, so all such rows become due.
UPDATE {parked} head SET state = 'retry', due = clock_timestamp()
WHERE state = 'behind' AND due IS NULL AND sent_at IS NULL AND {is_head}
