-- use: desk partitions_kept if partitioned
-- The partitions whose old rows are deleted one by one, because they have no last id or something else needs them:
-- name. The whole outbox, if a partition is not this role's to drop.
WITH partitions AS MATERIALIZED (
    SELECT * FROM {partitions}
)
SELECT quoted
FROM partitions
WHERE (end_id IS NULL OR needed_by IS NOT NULL) AND (SELECT bool_and(is_ours) FROM partitions)
UNION ALL
SELECT {outbox_text}
WHERE NOT (SELECT bool_and(is_ours) FROM partitions)
ORDER BY quoted
