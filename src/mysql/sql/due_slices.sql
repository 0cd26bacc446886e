-- The slices that have parked rows whose time has come, or notes of refused rows that may be claimed, the longest due
-- first.
SELECT slice, MIN(due) AS first_due
FROM (SELECT {slice_of_parked} AS slice, p.due AS due FROM {parked} p FORCE INDEX (due)
      WHERE p.due <= UTC_TIMESTAMP(6) AND p.sent_at IS NULL
      {if notes}
        AND p.state IN ('refused', 'unsettled'){if keyed} AND (p.state = 'unsettled' OR {first_of_key}){end}
      {else}
        AND p.state IN ('retry', 'scheduled', 'waiting', 'paused')
        {if declined}AND COALESCE(p.waits_for NOT IN ({declined}), TRUE){end}
      {end}
      ORDER BY p.due LIMIT 1000) due_rows
GROUP BY slice ORDER BY first_due
