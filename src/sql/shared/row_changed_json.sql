-- Part: what was, or would be, done to a row, as JSON with texts cut.
(SELECT row_to_json(r) FROM (
    SELECT '{if $dry_run}would {if drops}drop{else}retry{end}{else}{if drops}dropped{else}retried{end}{end}' AS result,
           {row_name} AS id,
           left({shown_event_id}, 1024) AS event_id,
           left({shown_topic}, 1024) AS topic,
           left({shown_key}, 1024) AS key,
           left({shown_type}, 1024) AS type,
           left({shown_error}, 1024) AS error
) r)
