-- Keeps what a broker has acknowledged: ? is the name, ? a JSON object. Another relay may have written a higher
-- position, which stays, unless the destination has another identity now.
INSERT INTO {control} (kind, name, value) VALUES ('setting', ?, ?)
ON DUPLICATE KEY UPDATE value = IF(
    COALESCE(JSON_UNQUOTE(JSON_EXTRACT(value, '$.identity')), '')
            = COALESCE(JSON_UNQUOTE(JSON_EXTRACT(VALUES(value), '$.identity')), '')
        AND CAST(JSON_EXTRACT(value, '$.position') AS SIGNED)
            >= CAST(JSON_EXTRACT(VALUES(value), '$.position') AS SIGNED),
    value, VALUES(value))
