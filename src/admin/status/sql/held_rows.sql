-- use: storage held_rows if key_is_indexed
-- section: rows behind dead ones
-- without: {"held_rows": null, "held_keys": null}
-- How many parked rows wait behind a dead row of their key, and how many keys these have, both up to a limit: the first
-- rows of the first dead keys. Of a key, its dead row comes first.
SELECT jsonb_build_object('held_rows', count(*), 'held_keys', count(DISTINCT key))
FROM (
    SELECT dead.key, of_key.state
    FROM (
        SELECT DISTINCT {key_text} AS key
        FROM (SELECT key FROM {parked} WHERE state = 'dead' ORDER BY seq LIMIT 1000) rows
        WHERE key IS NOT NULL
    ) dead,
    LATERAL (
        SELECT state
        FROM {parked}
        WHERE sent_at IS NULL AND key IS NOT NULL
          AND hashtextextended({key_text}, 0)
              = hashtextextended(dead.key, 0) AND {key_text} = dead.key
        LIMIT 10000
    ) of_key
    LIMIT 10000
) held
WHERE state = 'behind'
