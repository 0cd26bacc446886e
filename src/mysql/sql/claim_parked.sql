-- Claims parked rows of the locked slices whose time has come: of each key the first one, when no earlier row of its
-- key is unsent in the outbox.
SELECT {claimed_parked_columns}
FROM {parked} p FORCE INDEX (due)
WHERE p.due <= UTC_TIMESTAMP(6) AND p.sent_at IS NULL AND p.state IN ('retry', 'scheduled', 'waiting', 'paused')
  AND {slice_of_parked} IN ({locked}){if declined} AND COALESCE(p.waits_for NOT IN ({declined}), TRUE){end}
{if passed_topics}
  AND p.topic NOT IN ({passed_topics})
{end}
{if keyed}
  AND (p.`key` IS NULL
       OR NOT EXISTS (SELECT 1 FROM {parked} e FORCE INDEX (key_order)
                      WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.sent_at IS NULL
                        AND (e.id < p.id OR (e.id = p.id AND e.seq < p.seq)))
          AND NOT EXISTS (SELECT 1 FROM {outbox} o FORCE INDEX ({claim_index})
                          WHERE {id} >= {from} AND {id} < p.id AND {key_bytes} = p.`key`{if unsent} AND {unsent}{end}))
{end}
ORDER BY p.due LIMIT {limit}
