-- The event triggers that run when a role makes a view, and what lets their functions write with their owners' rights.
SELECT string_agg(quote_ident(evtname), ', ' ORDER BY evtname),
       string_agg(DISTINCT format('ALTER FUNCTION %s SECURITY DEFINER;', evtfoid::regprocedure), ' ')
FROM pg_catalog.pg_event_trigger
WHERE evtenabled IN ('O', 'A') AND evtevent IN ('ddl_command_start', 'ddl_command_end', 'sql_drop')
