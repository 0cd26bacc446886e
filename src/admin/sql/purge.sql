-- use: desk purge if has_sent_at sequential_ids
-- Deletes sent rows of the outbox that are old enough, a batch of them, and returns their number. Ids are
-- sequential, so the rows with the lowest ids are the oldest: only these are read, and no index on sent_at is needed.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM (
            SELECT ctid, {sent_at} AS relay_sent_at FROM {outbox} WHERE
            {if own_mark}
            {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name
                = 'condition')
            {else}
            {where}
            {if !own_table}
             AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
            {end}
            {end}
             ORDER BY {id} LIMIT {purge_rows}
        ) oldest
        WHERE relay_sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'))
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
