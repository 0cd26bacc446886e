-- Whether there are unsent rows, or parked rows whose time has come; and how many rows are parked or dead, up to 1,000.
SELECT EXISTS (SELECT 1 FROM {outbox} o{if unsent} WHERE {unsent}{end})
       OR EXISTS (SELECT 1 FROM {parked} p FORCE INDEX (due)
                  WHERE p.due <= UTC_TIMESTAMP(6) AND p.sent_at IS NULL AND p.state <> 'dead'
                  {if declined}  AND COALESCE(p.waits_for NOT IN ({declined}), TRUE){end}),
       (SELECT COUNT(*) FROM (SELECT 1 FROM {parked} p WHERE p.sent_at IS NULL LIMIT 1000) counted)
