-- Part of the claims: the headers of a row as text. A number becomes a text of its digits, as they are in jsonb.
{if headers_are_jsonb}
CASE WHEN jsonb_typeof(headers) = 'object' AND headers @? '$.* ? (@.type() == "number")' THEN (
         SELECT jsonb_object_agg(k, CASE jsonb_typeof(v) WHEN 'number' THEN to_jsonb(v::text) ELSE v END)
         FROM jsonb_each(headers) e (k, v))::text
     ELSE headers::text END
{else}
{headers_as_sent}
{end}
