-- Which of these rows have to wait behind a parked row of their key: {rows} is a JSON array of their key in hexadecimal
-- and their id.
SELECT j.id FROM JSON_TABLE('{rows}', '$[*]' COLUMNS (hex LONGTEXT PATH '$[0]', id BIGINT UNSIGNED PATH '$[1]')) j
WHERE EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (key_order)
              WHERE p.key_hash = CRC32(UNHEX(j.hex)) AND p.`key` = UNHEX(j.hex) AND p.sent_at IS NULL AND p.id < j.id)
