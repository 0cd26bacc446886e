-- use: figures lost
-- section: what brokers have lost
-- without: {"_losses": [], "_sink_losses": {}}
-- What brokers have lost, also as a number for each sink.
-- $1 jsonb the document, with _sinks.
WITH losses AS (
    {losses}
)
SELECT jsonb_build_object(
    '_losses', (SELECT jsonb_agg(to_jsonb(losses) ORDER BY first) FROM losses),
    '_sink_losses', (SELECT jsonb_object_agg(name, coalesce(rows, 0))
                     FROM jsonb_array_elements_text($1::jsonb -> '_sinks') name LEFT JOIN losses ON sink = name))
