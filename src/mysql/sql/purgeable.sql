-- Rows of the outbox that were sent so many seconds ago; in the order of sending, also those behind a row alone.
SELECT {id}, {sent_at} FROM {outbox} o FORCE INDEX ({claim_index})
WHERE {sent_at} < {now} - INTERVAL {age_s} SECOND
  {if after}AND {sent_at} >= {after_sent} AND ({sent_at} > {after_sent} OR {id} > {after_id}){end}
{if ordered}
ORDER BY {sent_at}, {id}
{end}
LIMIT {limit}{if locks} FOR UPDATE SKIP LOCKED{end}
