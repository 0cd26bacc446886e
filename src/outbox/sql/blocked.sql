-- Part of claim_slices: not NULL when a row of the same key is parked. Nothing is looked up while no row with a key is
-- parked. Otherwise each key of the batch is looked up only once, because the index may be full of dead entries.
-- OFFSET 0 keeps the planner from a join that compares each key with each parked row, which it likes as long as it
-- takes the parked table for empty.
CASE WHEN (SELECT EXISTS (SELECT FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL)) THEN
    nullif(coalesce({key_text:key} IN (
        SELECT key_text
        FROM (SELECT DISTINCT {locked_key_text} AS key_text FROM locked AS {outbox_name}) keys
        WHERE EXISTS (
            SELECT FROM {parked} parked
            WHERE parked.key IS NOT NULL
              AND hashtextextended({key_text:parked.key}, 0) = hashtextextended(keys.key_text, 0)
              AND {key_text:parked.key} = keys.key_text
              AND parked.sent_at IS NULL
            OFFSET 0)), false), false)
END
