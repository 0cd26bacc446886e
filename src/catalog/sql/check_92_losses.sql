-- use: last check_92_losses if control_exists
-- What brokers may have lost, as relays have noticed it. `audit` says what is missing, and ends the warning.
SELECT 'warning' AS level,
       format('sink %s may have lost events that it had acknowledged: %s%s (noticed at %s; until an audit has looked,'
              ' what was sent since is not purged)', sink, text,
              CASE WHEN rows > 1 THEN format(', and %s more like it', rows - 1) ELSE '' END, noticed) AS text,
       concat('outbox-relay audit --sink ', sink, ' --since ' || since) AS fix
FROM ({losses}) losses
ORDER BY first, sink
