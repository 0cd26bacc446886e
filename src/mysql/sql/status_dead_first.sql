-- The three rows that have been dead for longest.
SELECT CAST(p.id AS CHAR) AS id, LEFT(p.topic, 200) AS topic, LEFT(p.error, 300) AS reason
FROM {parked} p FORCE INDEX (state) WHERE p.state = 'dead' ORDER BY p.seq LIMIT 3
