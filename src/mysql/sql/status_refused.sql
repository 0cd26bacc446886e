-- The row that has waited longest of those that the server refuses to settle.
SELECT CAST(p.id AS CHAR) AS _refused_row, LEFT(p.error, 300) AS _refused_why
FROM {parked} p FORCE INDEX (state) WHERE p.state IN ('refused', 'unsettled') ORDER BY p.parked_at, p.seq LIMIT 1
