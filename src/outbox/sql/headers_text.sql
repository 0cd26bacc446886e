-- Part of claimed_rows: headers of type jsonb as text, with numbers as strings, because a JSON library would make them
-- doubles. Nested values, and anything but an object, are left for row_headers() to refuse: an error here would make
-- the whole claim fail.
CASE WHEN jsonb_typeof(headers) = 'object' AND headers @? '$.* ? (@.type() == "number")' THEN (
         SELECT jsonb_object_agg(k, CASE jsonb_typeof(v) WHEN 'number' THEN to_jsonb(v::text) ELSE v END)
         FROM jsonb_each(headers) e (k, v))::text
     ELSE headers::text END
