-- Asked after each claim: what is paused, a pause a row; whether rows with keys are parked; whether there are notes of
-- rows that the server refuses to settle, and whether one is due; the number of slices; and what makes commits durable.
SELECT CONCAT(c.kind, ' ', c.name) FROM {control} c
WHERE c.kind IN ('paused sink', 'paused topic', 'paused key') ORDER BY c.set_at, c.kind, c.name;
SELECT EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (state)
               WHERE p.state IN ('retry', 'scheduled', 'behind', 'waiting', 'paused', 'refused', 'unsettled', 'dead')
                 AND p.key_hash IS NOT NULL),
       EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (state) WHERE p.state IN ('refused', 'unsettled')),
       EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (state)
               WHERE p.state IN ('refused', 'unsettled') AND p.due <= UTC_TIMESTAMP(6)),
       (SELECT s.slices FROM {slice_table} s FORCE INDEX (PRIMARY) WHERE s.slice = 0),
       @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog
