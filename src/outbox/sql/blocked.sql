-- Part of claim_slices: not NULL when an earlier row of the same key is parked. A later one does not count: it waits
-- for this row (earlier.sql), so no two rows wait for each other; of two rows with one id the one in the outbox goes
-- first. Nor does the copy of a row of this claim, which its owner has brought back. Nothing is looked up while no row
-- with a key is parked. Otherwise each key of the batch is looked up only once, because the index may be full of dead
-- entries.
CASE WHEN (SELECT EXISTS (SELECT FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL)) THEN
    nullif(coalesce((id, {key_text:key}) IN (
        SELECT blocked_id, key_text
        FROM (
            SELECT {locked_key_text} AS key_text, array_agg({locked_id}) AS ids
            FROM locked AS {outbox_name} GROUP BY 1
        ) keys,
        LATERAL (
            SELECT parked.id AS first_id
            FROM {parked} parked
            WHERE parked.key IS NOT NULL
              AND hashtextextended({key_text:parked.key}, 0) = hashtextextended(keys.key_text, 0)
              AND {key_text:parked.key} = keys.key_text
              AND parked.sent_at IS NULL
              AND (parked.in_outbox IS NOT TRUE OR parked.id <> ALL (ids))
            ORDER BY parked.id LIMIT 1
        ) first,
        unnest(ids) blocked (blocked_id)
        WHERE first_id < blocked_id), false), false)
END
