-- Part: what was, or would be, done to a row, as JSON with texts cut.
seq,
(SELECT row_to_json(r) FROM (
    SELECT '{done}' AS result,
           {if whole}id::text{else}encode(convert_to(id::text, getdatabaseencoding()), 'escape'){end} AS id,
           left(
           {if whole}
           event_id::text
           {else}
           encode(convert_to(event_id::text, getdatabaseencoding()), 'escape')
           {end}
           , 1024) AS event_id,
           left(
           {if left_out}
           NULL::text
           {else}
           {if whole}topic::text{else}encode(convert_to(topic::text, getdatabaseencoding()), 'escape'){end}
           {end}
           , 1024) AS topic,
           left(
           {if left_out}
           NULL::text
           {else}
           {if whole}key::text{else}encode(convert_to(key::text, getdatabaseencoding()), 'escape'){end}
           {end}
           , 1024) AS key,
           left(
           {if left_out}
           NULL::text
           {else}
           {if whole}type::text{else}encode(convert_to(type::text, getdatabaseencoding()), 'escape'){end}
           {end}
           , 1024) AS type,
           left({if whole}error::text{else}encode(convert_to(error::text, getdatabaseencoding()), 'escape'){end},
               1024) AS error
) r) AS json
