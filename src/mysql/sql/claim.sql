-- Claims rows of the locked slices, from the bound on, in the order of their ids. It locks no row: a locking read would
-- wait for inserts that are not committed yet, and look up each dead entry. A row is owned by whoever has its slice.
SELECT {claimed_columns}
FROM {outbox} o FORCE INDEX ({claim_index})
WHERE {id} >= {from} AND {slice_of_row} IN ({locked}){if unsent} AND {unsent}{end}
{if passed_topics}
  AND COALESCE({topic_bytes} NOT IN ({passed_topics}), TRUE)
{end}
{if notes}
  AND {has_no_note}
{end}
ORDER BY {id} LIMIT {limit}
