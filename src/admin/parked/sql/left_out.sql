-- Part of `dead retry`: "left_out", the dead rows that would overtake a row of their key. A row that is kept as a whole
-- may turn out to have the topic of a sink that is away, for which earlier rows of its key wait in the outbox. Every
-- other dead row has a known topic: the earlier rows for it left the outbox before this row did.
left_out AS MATERIALIZED (
    SELECT array_agg(DISTINCT head.seq) AS seqs
    FROM {parked} head
         JOIN (SELECT {key} AS relay_key, {id} AS relay_id FROM {outbox} WHERE {claimable}) waiting
         ON {key_text:waiting.relay_key} = {key_text:head.key} AND waiting.relay_id < head.id
    WHERE head.raw IS NOT NULL AND head.sent_at IS NULL AND head.state = 'dead'
),
