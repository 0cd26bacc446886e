-- Part: the row "head" of the parked table is the first unsent one of its key. Copies of one row have its id, so seq
-- tells which of them comes first; a row that is not there yet has the highest. A key may be too long for an index
-- entry, so the index has its hash. Without order = "key" rows do not wait for each other.
{if keyed}(head.key IS NULL OR NOT EXISTS (
    SELECT FROM {parked} earlier
    WHERE earlier.key IS NOT NULL
      AND hashtextextended({if key_is_bytes}encode(earlier.key, 'hex'){else}earlier.key::text{end}, 0)
          = hashtextextended({if key_is_bytes}encode(head.key, 'hex'){else}head.key::text{end}, 0)
      AND {if key_is_bytes}encode(earlier.key, 'hex'){else}earlier.key::text{end}
          = {if key_is_bytes}encode(head.key, 'hex'){else}head.key::text{end}
      AND (earlier.id, earlier.seq) < (head.id, head.seq) AND earlier.sent_at IS NULL)){else}true{end}
