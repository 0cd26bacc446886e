-- Part: a name as it is written in the configuration (outbox_read_table).
CASE WHEN {argument}::text ~ '[".]|^ | $' THEN '"' || replace({argument}::text, '"', '""') || '"'
     ELSE {argument}::text END
