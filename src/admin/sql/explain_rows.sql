-- The rows that `explain` looks at, in the order of their ids: rows of the outbox, the newest of those that are asked
-- for, and parked ones. A row that is parked takes the place of its marked one in the outbox, and of no other that was
-- given its id. Returns where it lies (as text), whether that is the parked table, its id and event id (NULL: not
-- looked at), its state, and why it is parked.
-- $1 int8 how many; by ids: $2 text[] these ids or event ids.
WITH found AS MATERIALIZED (
    SELECT ctid AS place, {id} AS id, {if event_id_is_searched}{event_id}{else}NULL{end} AS event_id,
           CASE WHEN {id} IS NULL THEN 'without an id'
                WHEN {unsent} THEN 'unsent'
                {if own_mark}
                ELSE 'sent, or left out by where' END AS state,
                {else}
                {if marked_by_time}
                ELSE CASE WHEN {sent_time} IS NULL THEN 'left out by where' ELSE 'sent' END END AS state,
                {else}
                ELSE 'left out by where' END AS state,
                {end}
                {end}
           {if parked_exists}
           CASE WHEN {id} IN (SELECT id FROM {parked} WHERE sent_at IS NULL) THEN {identity} END AS identity
           {else}
           NULL::text AS identity
           {end}
    FROM {outbox}
    WHERE {is_explained}
    ORDER BY {outbox_name}.{id} DESC NULLS LAST LIMIT $1::int8
), parked AS (
    {if parked_exists}
    SELECT ctid AS place, seq, id, event_id::text AS event_id, state, error,
           {is_note} AS is_of_note, identity
    FROM {parked}
    WHERE sent_at IS NULL AND (id IN (SELECT found.id FROM found) OR {is_explained_parked})
    {else}
    SELECT NULL::tid AS place, NULL::int8 AS seq, NULL::{id_type} AS id, NULL::text AS event_id, NULL::text AS state,
           NULL::text AS error, NULL::bool AS is_of_note, NULL::text AS identity
    WHERE false
    {end}
), explained AS (
    SELECT found.place, parked.place AS parked_place, coalesce(found.id, parked.id) AS id, seq,
           coalesce(parked.event_id, found.event_id::text) AS event_id,
           coalesce(parked.state, found.state) AS state, error,
           found.place IS NULL OR (found.state <> 'unsent' AND parked.place IS NOT NULL) AND NOT is_of_note AS is_parked
    FROM found FULL JOIN parked
         ON parked.id = found.id AND coalesce(parked.identity, found.identity) = found.identity
)
SELECT CASE WHEN is_parked THEN parked_place ELSE place END::text, is_parked::int, id::text, event_id, state, error
FROM explained
ORDER BY explained.id, seq LIMIT $1::int8
