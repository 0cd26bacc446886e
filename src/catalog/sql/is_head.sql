-- Part: the row "head" of the parked table is the first unsent one of its key. A key may be too long for an index
-- entry, so the index has its hash.
(head.key IS NULL OR NOT EXISTS (
    SELECT FROM {parked} earlier
    WHERE earlier.key IS NOT NULL
      AND hashtextextended({key_text:earlier.key}, 0) = hashtextextended({key_text:head.key}, 0)
      AND {key_text:earlier.key} = {key_text:head.key}
      AND earlier.id < head.id AND earlier.sent_at IS NULL))
