-- Parked rows, a page of them: those of a filter, from a number on, or those that words name, as an id, an event id or,
-- as @SEQ, by their number. Names that begin with "_" are for the program.
SELECT p.seq AS _seq, {slice_of_parked} AS _slice, {if words}j.word{else}NULL{end} AS _word,
       CAST(p.id AS CHAR) AS id, LEFT(p.event_id, 1024) AS event_id,
       {if whole}
       p.state AS state,
       {else}
       CONCAT(p.state, CASE
           WHEN p.due IS NULL OR p.state = 'paused' THEN ''
           WHEN p.due <= UTC_TIMESTAMP(6) THEN ', next try now'
           WHEN p.due < UTC_TIMESTAMP(6) + INTERVAL 100 SECOND
               THEN CONCAT(', next try in ', TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), p.due) + 1, ' s')
           ELSE CONCAT(', next try at ', DATE_FORMAT(p.due, '%Y-%m-%dT%H:%i:%sZ')) END) AS state,
       {end}
       LEFT(p.topic, {cut}) AS topic, LEFT(p.`key`, {cut}) AS `key`, LEFT(p.type, {cut}) AS type, p.attempts,
       {if whole}
       DATE_FORMAT(p.due, '%Y-%m-%dT%H:%i:%s.%fZ') AS due,
       {end}
       {if !words}
       {if whole}
       DATE_FORMAT(p.parked_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS parked_at,
       {end}
       {end}
       {if one}
       DATE_FORMAT(p.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(p.parked_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS parked_at, p.headers,
       LENGTH(p.payload) AS payload_bytes, {if whole}p.payload{else}LEFT(p.payload, 4096){end} AS payload,
       {end}
       LEFT(p.error, {cut}) AS error
{if words}
FROM (
    SELECT DISTINCT w.word
    FROM JSON_TABLE({words}, '$[*]'
                    COLUMNS (word VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) w
) j
JOIN {parked} p ON p.id = IF(j.word REGEXP '^[0-9]{1,20}$', CAST(j.word AS UNSIGNED), NULL)
                   OR p.event_id = j.word OR CONCAT('@', p.seq) = j.word
WHERE p.sent_at IS NULL{if drops} AND p.state NOT IN ('refused', 'unsettled'){end}
{else}
FROM {parked} p
WHERE p.sent_at IS NULL AND p.seq {if newest_first}<{else}>{end} {place}
{if changes}
  AND (p.state = 'dead'{if by_topic} OR p.state = 'waiting'{end})
{end}
{if chosen_type}
  AND p.type = {chosen_type}
{end}
{if chosen_topic}
  AND p.topic = {chosen_topic}
{end}
{if chosen_topic_regex}
  AND p.topic REGEXP {chosen_topic_regex}
{end}
{if chosen_since}
  AND p.parked_at >= {chosen_since}
{end}
{end}
ORDER BY p.seq{if newest_first} DESC{end} LIMIT {limit}
