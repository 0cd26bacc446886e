-- use: server check_10_server
-- Of check: the server and the database.
WITH server AS (SELECT current_setting('server_version_num')::int AS version)
SELECT 'error' AS level, format('PostgreSQL %s is older than 13', version / 10000) AS text, '' AS fix
FROM server WHERE version < 130000
UNION ALL
SELECT 'ok', format('connected to PostgreSQL %s.%s, database "%s", role "%s"', version / 10000, version % 10000,
                    current_database(), session_user), ''
FROM server WHERE version >= 130000
UNION ALL
SELECT 'ok', 'the connection goes through a connection pooler in session mode', ''
WHERE {if pooled}true{else}false{end}
UNION ALL
-- The relay's sessions speak UTF-8, which has all of LATIN1; SQL_ASCII holds any bytes.
SELECT 'warning', format('database "%s" has the encoding %s: a row that holds bytes without an equivalent in UTF-8'
                         ' cannot be sent, and is parked as dead', current_database(),
                         current_setting('server_encoding')), ''
WHERE current_setting('server_encoding') NOT IN ('UTF8', 'LATIN1')
UNION ALL
-- With target_session_attrs=any in the url; by default the connection has failed already.
SELECT 'error', 'database: the server is read-only', NULL
WHERE current_setting('transaction_read_only')::bool
