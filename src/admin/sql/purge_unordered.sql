-- use: desk purge if has_sent_at !sequential_ids
-- Deletes sent rows of the outbox that are old enough, a batch of them, and returns their number. Ids do not grow, so
-- it may read every row.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM {outbox} WHERE {sent_at} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND
        {if own_mark}
        {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name
            = 'condition')
        {else}
        {where}
        {if !own_table}
         AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
        {end}
        {end}
         LIMIT {purge_rows}))
      AND {sent_at} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND
      {if own_mark}
      {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
      {else}
      {where}
      {if !own_table}
       AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
      {end}
      {end}
    RETURNING 1
)
SELECT count(*) FROM purged
