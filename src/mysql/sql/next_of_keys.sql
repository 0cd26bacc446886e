-- The first parked rows of keys, whose earlier ones have left: {keys} is a JSON array of the keys in hexadecimal.
SELECT (SELECT p.seq FROM {parked} p FORCE INDEX (key_order)
        WHERE p.key_hash = CRC32(UNHEX(j.hex)) AND p.`key` = UNHEX(j.hex) AND p.sent_at IS NULL
        ORDER BY p.id, p.seq LIMIT 1) AS seq
FROM JSON_TABLE('{keys}', '$[*]' COLUMNS (hex LONGTEXT PATH '$')) j
