-- Part: a row for people, with long texts cut.
seq,
{if in_place}
(SELECT bool_or(coalesce(relay_copy_identity, {identity}) = {identity})
 FROM (
     SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
     FROM {parked} copy
     WHERE copy.seq = chosen_seq AND copy.in_outbox
 ) relay_copy, {outbox}
 WHERE {id} = relay_copy_id AND ({unsent}) IS NOT TRUE)
{else}
NULL::bool
{end}
 AS stays, -- not shown
{if whole}id::text{else}encode(convert_to(id::text, getdatabaseencoding()), 'escape'){end} AS id,
left(
{if whole}
event_id::text
{else}
encode(convert_to(event_id::text, getdatabaseencoding()), 'escape')
{end}
, 1024) AS event_id,
state || CASE
    WHEN due IS NULL OR state = 'paused' THEN ''
    WHEN due <= clock_timestamp() THEN ', next try now'
    WHEN due < clock_timestamp() + interval '100 s'
         THEN ', next try in ' || ceil(extract(epoch FROM due - clock_timestamp())) || ' s'
    WHEN due < clock_timestamp() + interval '100 min'
         THEN ', next try in ' || ceil(ceil(extract(epoch FROM due - clock_timestamp())) / 60) || ' min'
    ELSE ', next try at ' || to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
END AS state,
left(
{if left_out}
NULL::text
{else}
{if whole}topic::text{else}encode(convert_to(topic::text, getdatabaseencoding()), 'escape'){end}
{end}
, 4097) AS topic,
left(
{if left_out}
NULL::text
{else}
{if whole}key::text{else}encode(convert_to(key::text, getdatabaseencoding()), 'escape'){end}
{end}
, 4097) AS key,
left(
{if left_out}
NULL::text
{else}
{if whole}type::text{else}encode(convert_to(type::text, getdatabaseencoding()), 'escape'){end}
{end}
, 4097) AS type,
{if left_out}
NULL::text
{else}
{if whole}
created_at::text
{else}
encode(convert_to(created_at::text, getdatabaseencoding()), 'escape')
{end}
{end}
 AS created_at,
to_char(parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS parked_at,
attempts,
left({if whole}error::text{else}encode(convert_to(error::text, getdatabaseencoding()), 'escape'){end}, 4097) AS error,
left(
{if left_out}
NULL::text
{else}
{if whole}
headers::text
{else}
encode(convert_to(headers::text, getdatabaseencoding()), 'escape')
{end}
{end}
, 4097) AS headers,
left(
{if left_out}
NULL::text
{else}
{if whole}raw::text{else}encode(convert_to(raw::text, getdatabaseencoding()), 'escape'){end}
{end}
, 4097) AS raw,
{if left_out}
NULL::bigint
{else}
{if payload_is_bytea}octet_length(payload){else}octet_length(payload::text){end}
{end}
 AS payload_bytes,
{if shows_bytes}
substring(payload FROM 1 FOR {payload_max})
{else}
left(
{if left_out}
NULL::text
{else}
{if whole}
payload::text
{else}
encode(convert_to(payload::text, getdatabaseencoding()), 'escape')
{end}
{end}
, {payload_max})
{end}
 AS payload
