-- The tables of the relay, as `init` makes them; and the outbox, where there is none.
{if !exists}
CREATE TABLE IF NOT EXISTS {outbox} (
    {id}         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    {event_id}   VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (UUID()), -- for consumers
    {topic}      VARCHAR(249) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- selects the route
    {key}        VARBINARY(1024),                    -- rows of a key stay in order; NULL: no order
    {type}       VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,          -- header "type"
    {payload}    LONGBLOB,                           -- NULL is a tombstone
    {headers}    LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,              -- flat JSON object of strings
    {created_at} TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6){if marking},
    {sent_at}    TIMESTAMP(6) NULL,                  -- NULL: not sent yet
    KEY unsent ({sent_at}, {id}){end}
) ENGINE = InnoDB COMMENT = 'outbox-relay: created by init';
{end}
CREATE TABLE IF NOT EXISTS {slice_table} (
    slice  SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
    slices SMALLINT UNSIGNED NOT NULL                -- the number of slices, the same in each row
) ENGINE = InnoDB;
INSERT INTO {slice_table}
WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 31)
SELECT high.n * 32 + low.n, {slices} FROM n high CROSS JOIN n low
WHERE high.n * 32 + low.n < {slices}
  AND NOT EXISTS (SELECT 1 FROM (SELECT s.slice FROM {slice_table} s LIMIT 1) there);
CREATE TABLE IF NOT EXISTS {control} (
    kind   VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- what is paused, or setting
    name   VARBINARY(700) NOT NULL,                  -- of the sink, the topics, the key or the setting
    value  LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,         -- of the setting; NULL for a pause
    reason TEXT CHARACTER SET utf8mb4,               -- of the pause; NULL: none was given
    set_by VARCHAR(300) CHARACTER SET utf8mb4 NOT NULL DEFAULT (CURRENT_USER()),
    set_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (kind, name)
) ENGINE = InnoDB;
INSERT IGNORE INTO {control} (kind, name, value) VALUES ('setting', 'schema', '1');
CREATE TABLE IF NOT EXISTS {parked} (
    seq        BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id         BIGINT UNSIGNED NOT NULL,
    event_id   TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    topic      TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    `key`      LONGBLOB,
    key_hash   INT UNSIGNED AS (CRC32(`key`)) STORED,
    type       LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload    LONGBLOB,
    headers    LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at DATETIME(6),
    state      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- docs/failed-rows.md
    attempts   INT NOT NULL DEFAULT 0,
    due        DATETIME(6),                          -- when the row is tried next, in UTC; NULL: not by time
    waits_for  VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,    -- the destination or the pause
    error      MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,       -- why the row is here
    parked_at  DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    sent_at    DATETIME(6),                          -- when it was sent after all; kept until the retention ends
    not_before DATETIME(6),                          -- by [outbox] due; NULL: no such time
    KEY key_order (key_hash, id),
    KEY id (id),
    KEY due (due),
    KEY waits_for (waits_for(191), due),
    KEY state (state)
) ENGINE = InnoDB COMMENT = 'outbox-relay: schema 1';
