-- Part: "chosen", the rows that ids or event ids name, if each names one; "missing_words", those that name none as text
-- for an error, NULL if each does. There is a separate join for each id column, so that PostgreSQL can use a hash join
-- for many ids. The rows are locked before anything is decided.
wanted AS MATERIALIZED (
    SELECT DISTINCT relay_word FROM unnest($1::text[]) AS w (relay_word)
), hits AS MATERIALIZED (
    SELECT seq AS hit, relay_word FROM {parked} JOIN wanted ON id::text = {word_as:id} WHERE sent_at IS NULL
    UNION
    SELECT seq AS hit, relay_word FROM {parked} JOIN wanted ON event_id::text = {word_as:event_id} WHERE sent_at IS NULL
), locked AS MATERIALIZED (
    SELECT seq AS locked_seq
    FROM {parked}
    WHERE seq = ANY (ARRAY(SELECT hit FROM hits)) AND sent_at IS NULL AND {is_choosable}{row_lock}
), missing AS MATERIALIZED (
    SELECT relay_word FROM wanted WHERE relay_word NOT IN (SELECT relay_word FROM hits JOIN locked ON hit = locked_seq)
), missing_words AS (
    SELECT {missing_as_text}
           || CASE WHEN count(*) > 5 THEN ' or ' || count(*) - 5 || ' more' ELSE '' END AS words
    FROM missing
), chosen AS MATERIALIZED (
    SELECT locked_seq AS chosen_seq FROM locked WHERE NOT EXISTS (SELECT FROM missing)
)
