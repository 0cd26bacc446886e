-- Part: what a claim reads of a row of the outbox: its values, or all columns when values are computed of them
-- (computed_values.sql).
{if computed}{all_columns}{else}{id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type,
{payload} AS payload, {headers} AS headers, {created_at} AS created_at{end}
