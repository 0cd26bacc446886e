-- Part: "chosen", the rows that a step of `replay` copies, in the order of the ids: rows of the outbox, and rows that
-- had been parked before they were sent; any other row has been purged. "edge" is the last row of the outbox that it
-- looks at when there may be more, so that no step takes long. Rows of one id are chosen in one step, and a row that an
-- id names is known by its key: the id and the identity.
looked AS MATERIALIZED (
    SELECT ctid AS place, {id} AS id, {sent_at} AS sent_at, {topic} AS topic
    FROM {outbox}
    WHERE ($1::text IS NULL OR {id} > $1::text::{id_type})
      AND ($6::text IS NULL OR {id} = ANY ($6::text::{id_type}[]))
      AND ($8::text IS NULL OR ({id}::text || ' ' || {identity}) = ANY ($8::text::text[]))
      AND
      {if own_mark}
      {where} IS NOT TRUE AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
      {else}
      {where}
      {if !own_table}
       AND {sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition')
      {end}
      {end}
    ORDER BY 2 LIMIT {looked_rows}
), edge AS MATERIALIZED (
    SELECT id FROM looked ORDER BY id OFFSET {looked_rows} - 1 LIMIT 1
), chosen AS MATERIALIZED (
    SELECT *
    FROM (SELECT *, rank() OVER (ORDER BY id) AS relay_rank FROM (
        SELECT false AS parked, place, id, sent_at, topic::text AS topic
        FROM looked
        WHERE ($2::timestamptz IS NULL OR sent_at >= $2::timestamptz) AND sent_at < $3::timestamptz
        AND ($4::text IS NULL OR topic::text = $4::text)
        AND ($5::text IS NULL OR topic::text ~ $5::text)
        UNION ALL
        SELECT true, ctid, id, sent_at, topic::text
        FROM {parked}
        WHERE sent_at IS NOT NULL AND replayed_at IS NULL
          AND ($1::text IS NULL OR id > $1::text::{id_type})
          AND ($6::text IS NULL OR id = ANY ($6::text::{id_type}[]))
          AND ($8::text IS NULL OR (id::text || ' ' || coalesce(identity, '@' || seq)) = ANY ($8::text::text[]))
          AND (NOT EXISTS (SELECT FROM edge) OR id <= (SELECT id FROM edge))
          AND ($2::timestamptz IS NULL OR sent_at >= $2::timestamptz) AND sent_at < $3::timestamptz
          AND ($4::text IS NULL OR topic::text = $4::text)
          AND ($5::text IS NULL OR topic::text ~ $5::text)
    ) candidates) ranked
    WHERE relay_rank <= $7::int4
)
