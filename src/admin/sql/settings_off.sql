-- use: desk settings_off
-- The settings of the server that are off and should not be, as a session begins: this one has set some of its own.
SELECT name
FROM pg_catalog.pg_settings
WHERE reset_val = 'off' AND name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts')
ORDER BY name
