-- Claims parked rows of the locked slices whose time has come: of each key the first one, when no earlier row of its
-- key is unsent in the outbox. The next rows of the key come with it, as far as they wait for nothing else and are
-- before all unsent rows of the outbox.
WITH head AS (
    SELECT p.seq AS relay_seq{if keyed}, p.id AS relay_id, p.key_hash AS relay_hash, p.`key` AS relay_key,
           LEAST(COALESCE((SELECT MIN(e.id) FROM {parked} e FORCE INDEX (key_order)
                           WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.sent_at IS NULL
                             AND e.id >= p.id AND e.seq <> p.seq AND (e.state <> 'behind' OR e.id = p.id)), ~0),
                 COALESCE((SELECT {id} FROM {outbox} o FORCE INDEX ({claim_index})
                           WHERE {id} >= {from}{if unsent} AND {unsent}{end} ORDER BY {id} LIMIT 1), ~0)) AS relay_end
    {end}
    FROM {parked} p FORCE INDEX (due)
    WHERE p.due <= UTC_TIMESTAMP(6) AND p.sent_at IS NULL AND p.state IN ('retry', 'scheduled', 'waiting', 'paused')
      AND {slice_of_parked} IN ({locked}){if declined} AND COALESCE(p.waits_for NOT IN ({declined}), TRUE){end}
    {if passed_topics}
      AND COALESCE(p.topic NOT IN ({passed_topics}), TRUE)
    {end}
    {if keyed}
      AND {first_of_key}
      AND (p.`key` IS NULL OR NOT EXISTS (SELECT 1 FROM {outbox} o FORCE INDEX ({claim_index})
                                          WHERE {id} >= {from} AND {id} < p.id AND {key_bytes} = p.`key`
                                            {if unsent}AND {unsent}{end}))
    {end}
    ORDER BY p.due, p.seq LIMIT {limit}
)
SELECT {claimed_parked_columns}
FROM (SELECT relay_seq FROM head
      {if keyed}
      UNION ALL
      (SELECT b.seq FROM head STRAIGHT_JOIN {parked} b FORCE INDEX (key_order)
           ON b.key_hash = relay_hash AND b.`key` = relay_key AND b.id > relay_id AND b.id < relay_end
       WHERE b.sent_at IS NULL ORDER BY b.id, b.seq LIMIT {limit})
      {end}) run
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = run.relay_seq
ORDER BY p.id, p.seq
