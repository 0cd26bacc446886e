-- Part: "chosen", the rows that ids, event ids or, as @SEQ, numbers of parked rows name, if each names one row;
-- "refusal", an error that says which name none, or else what to give in place of one that names several rows, such as
-- the id of a row that another one was given after a TRUNCATE; NULL if each names one. Copies of one row by `replay`
-- count as one. A row that PostgreSQL refuses is still in the outbox, from where it would be sent again if its note
-- were dropped, so no id names it then. There is a separate join for each id column, so that PostgreSQL can use a hash
-- join for many ids. The rows are locked before anything is decided.
wanted AS MATERIALIZED (
    SELECT DISTINCT relay_word FROM unnest({$ids}::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT seq AS hit, relay_word
    FROM {parked} JOIN wanted ON id::text = {if id_is_uuid}lower(relay_word){else}relay_word{end}
    WHERE sent_at IS NULL
    UNION
    SELECT seq AS hit, relay_word
    FROM {parked} JOIN wanted ON event_id::text = {if event_id_is_uuid}lower(relay_word){else}relay_word{end}
    WHERE sent_at IS NULL
    UNION
    SELECT seq AS hit, relay_word
    FROM {parked} JOIN wanted ON seq = CASE WHEN relay_word ~ '^@[0-9]{1,18}$' THEN substr(relay_word, 2)::int8 END
    WHERE sent_at IS NULL
), named AS MATERIALIZED (
    SELECT relay_word, seq AS named_seq, event_id::text AS event,
           (id::text || ' ' || coalesce(identity, '@' || seq)) AS row_key
    FROM hits JOIN {parked} ON seq = hit
), asked AS MATERIALIZED (
    SELECT relay_word AS asked_word
    FROM named GROUP BY relay_word HAVING count(DISTINCT row_key) > 1 AND {if shown}false{else}true{end}
    ORDER BY relay_word LIMIT 1
), several AS MATERIALIZED (
    SELECT 'id "' || left(relay_word, 64) || '" names ' || count(DISTINCT row_key) || ' rows: give '
           || left(string_agg(DISTINCT '"' || left(handle, 64) || '"', ' or '), 300) || '; nothing was done' AS refused
    FROM (
        SELECT relay_word, row_key,
               CASE WHEN event IS NULL OR event = relay_word
                      OR EXISTS (SELECT FROM named other WHERE other.event = named.event
                                                           AND other.row_key <> named.row_key)
                    THEN '@' || named_seq ELSE event END AS handle
        FROM named WHERE relay_word = (SELECT asked_word FROM asked)
    ) handles
    GROUP BY relay_word
), locked AS MATERIALIZED (
    SELECT seq AS locked_seq
    FROM {parked}
    WHERE seq = ANY (ARRAY(SELECT hit FROM hits)) AND sent_at IS NULL
      {if drops}
      AND NOT {is_note}
      {end}
    ORDER BY seq
    {if changes}
    {if !$dry_run}
    FOR UPDATE
    {end}
    {end}
), missing AS MATERIALIZED (
    SELECT relay_word FROM wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits JOIN locked ON hit = locked_seq)
), refusal AS (
    SELECT coalesce((SELECT refused FROM several),
                    'no parked or dead row has id '
                    || (SELECT string_agg('"' || left(relay_word, 64) || '"', ' or ' ORDER BY relay_word)
                        FROM (SELECT relay_word FROM missing ORDER BY relay_word LIMIT 5) few)
                    || CASE WHEN count(*) > 5 THEN ' or ' || count(*) - 5 || ' more' ELSE '' END
                    || '{if !shown}: nothing was done{end}') AS refused
    FROM missing
), chosen AS MATERIALIZED (
    SELECT locked_seq AS chosen_seq FROM locked WHERE (SELECT refused IS NULL FROM refusal)
)
