-- Part of explain_rows, when there is no parked table.
SELECT NULL::tid AS place, NULL::int8 AS seq, NULL::{id_type} AS id, NULL::text AS event_id, NULL::text AS state,
       NULL::text AS error, NULL::bool AS is_of_note,
       NULL::text AS identity
WHERE false
