-- Part: "chosen", the rows that a step of `replay` copies, in the order of the ids: rows of the outbox, and rows that
-- had been parked before they were sent; any other row has been purged. "edge" is the last row of the outbox that it
-- looks at when there may be more, so that no step takes long. Rows of one id are chosen in one step, and a row that an
-- id names is known by its key: the id and the identity.
looked AS MATERIALIZED (
    SELECT ctid AS place, {id} AS id, {sent_at} AS sent_at, {topic} AS topic
    FROM {outbox}
    WHERE ($1::text IS NULL OR {id} > $1::text::{id_type})
      AND ($6::text IS NULL OR {id} = ANY ($6::text::{id_type}[]))
      AND ($8::text IS NULL OR {row_key} = ANY ($8::text::text[]))
      AND {where_of_sent}
    ORDER BY 2 LIMIT {looked_rows}
), edge AS MATERIALIZED (
    SELECT id FROM looked ORDER BY id OFFSET {looked_rows} - 1 LIMIT 1
), chosen AS MATERIALIZED (
    SELECT *
    FROM (SELECT *, rank() OVER (ORDER BY id) AS relay_rank FROM (
        SELECT false AS parked, place, id, sent_at, topic::text AS topic
        FROM looked
        WHERE {is_replayed}
        UNION ALL
        SELECT true, ctid, id, sent_at, topic::text
        FROM {parked}
        WHERE {is_parked_sent}
          AND ($1::text IS NULL OR id > $1::text::{id_type})
          AND ($6::text IS NULL OR id = ANY ($6::text::{id_type}[]))
          AND ($8::text IS NULL OR {parked_row_key} = ANY ($8::text::text[]))
          AND (NOT EXISTS (SELECT FROM edge) OR id <= (SELECT id FROM edge))
          AND {is_replayed}
    ) candidates) ranked
    WHERE relay_rank <= $7::int4
)
