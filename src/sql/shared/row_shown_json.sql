-- Part: a whole row as JSON.
seq,
(SELECT row_to_json(r) FROM (
    SELECT {if whole}id::text{else}encode(convert_to(id::text, getdatabaseencoding()), 'escape'){end} AS id,
           left(
           {if whole}
           event_id::text
           {else}
           encode(convert_to(event_id::text, getdatabaseencoding()), 'escape')
           {end}
           , 1024) AS event_id,
           {if left_out}
           NULL::text
           {else}
           {if whole}topic::text{else}encode(convert_to(topic::text, getdatabaseencoding()), 'escape'){end}
           {end}
            AS topic,
           {if left_out}
           NULL::text
           {else}
           {if whole}key::text{else}encode(convert_to(key::text, getdatabaseencoding()), 'escape'){end}
           {end}
            AS key,
           {if left_out}
           NULL::text
           {else}
           {if whole}type::text{else}encode(convert_to(type::text, getdatabaseencoding()), 'escape'){end}
           {end}
            AS type,
           state,
           attempts,
           due,
           {if whole}error::text{else}encode(convert_to(error::text, getdatabaseencoding()), 'escape'){end} AS error,
           parked_at,
           {if whole}
           created_at
           {else}
           {if left_out}
           NULL::text
           {else}
           encode(convert_to(created_at::text, getdatabaseencoding()), 'escape')
           {end}
           {end}
            AS created_at,
           {if whole}
           headers
           {else}
           {if left_out}
           NULL::text
           {else}
           encode(convert_to(headers::text, getdatabaseencoding()), 'escape')
           {end}
           {end}
            AS headers,
           {if left_out}
           NULL::text
           {else}
           {if whole}raw::text{else}encode(convert_to(raw::text, getdatabaseencoding()), 'escape'){end}
           {end}
            AS raw,
           {if left_out}
           NULL::bigint
           {else}
           {if payload_is_bytea}octet_length(payload){else}octet_length(payload::text){end}
           {end}
            AS payload_bytes,
           {if whole}
           payload
           {else}
           {if left_out}
           NULL::text
           {else}
           encode(convert_to(payload::text, getdatabaseencoding()), 'escape')
           {end}
           {end}
            AS payload
) r) AS json
