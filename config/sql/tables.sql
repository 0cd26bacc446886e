-- The outbox, where an application has none yet, and what stands beside each outbox. The printed text may be run with any
-- search_path, so every type, function and operator is schema-qualified; bigint, int and boolean are words of the grammar.
{if makes_outbox}
{if in_transaction}
BEGIN; -- if CREATE TABLE fails because the table exists, it must not get the comment either
{end}
CREATE TABLE {outbox} (
    {id}         bigint{if !ordered} GENERATED ALWAYS AS IDENTITY{end},{if ordered} -- drawn by the trigger{end}
    {event_id}   pg_catalog.uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid(), -- the id consumers deduplicate by
    {topic}      pg_catalog.text        NOT NULL,                 -- selects the route, and so the topic or subject
{if has_key}
    {key}        pg_catalog.text,                                 -- rows of a key stay in order; NULL: no order
{end}
{if has_type}
    {type}       pg_catalog.text,                                 -- header "type"
{end}
    {payload}    pg_catalog.jsonb,                                -- NULL is a tombstone
{if has_headers}
    {headers}    pg_catalog.jsonb,                                -- flat object of strings
{end}
{if has_created_at}
    {created_at} pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
{end}
{if has_mark}
    {sent_at}    pg_catalog.timestamptz,                          -- NULL: not sent{if position}, or the position says so{else} yet{end}
{end}
{if position}
    {xid}        pg_catalog.xid8        NOT NULL DEFAULT pg_catalog.pg_current_xact_id(), -- the transaction of the INSERT
{end}
    PRIMARY KEY ({id}){if marking} WITH (fillfactor = 50){end}
) {if partition_rows}PARTITION BY RANGE ({id}); -- relays make further partitions ahead, and drop those that were sent long ago
{else}WITH ( -- rows become dead soon: vacuum after a fixed number of them, without pauses
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold    = 10000,
    autovacuum_vacuum_cost_delay   = 0
);
{end}
COMMENT ON TABLE {outbox} IS 'outbox-relay: created by init';
{if position}
{position_guard}
CREATE TRIGGER {position_trigger} AFTER UPDATE ON {outbox} FOR EACH ROW
    WHEN ((OLD.{id}, {if has_key}OLD.{key}, {end}OLD.{xid}) IS DISTINCT FROM (NEW.{id}, {if has_key}NEW.{key}, {end}NEW.{xid}))
    EXECUTE FUNCTION {progress}();
CREATE TRIGGER {xid_trigger} AFTER INSERT ON {outbox} FOR EACH ROW
    WHEN (NEW.{xid} IS DISTINCT FROM pg_catalog.pg_current_xact_id()) EXECUTE FUNCTION {progress}();
{end}
{if ordered}
{ordering}
{end}
{if partition_rows}
CREATE TABLE {default_partition} PARTITION OF {outbox} DEFAULT; -- so that no INSERT fails when the ids run ahead
{first_partitions}
{end}
{if in_transaction}
COMMIT;
{end}
{end}
{if makes_index}
{index_of_claims}
{end}
{if makes_others}
{if by_slice}
{if !slice_exists}
CREATE TABLE {slice_table} (
    slice  int PRIMARY KEY,
    slices int NOT NULL     -- the number of slices, the same in each row
);
INSERT INTO {slice_table} SELECT slice, {slices} FROM pg_catalog.generate_series(0, {last_slice}) slice;
{end}
{end}
{if position}
{if !progress_exists}
CREATE TABLE {progress} (
    slice      int NOT NULL,
    top        bigint NOT NULL,                    -- no row with a higher id is sent
    number     bigint NOT NULL,                    -- of the slice; the last is what holds
    low        bigint NOT NULL,                    -- all rows with lower ids are sent, and none will come
    ends       bigint[] NOT NULL,                  -- the last ids of the segments, ascending
    snapshots  pg_catalog.pg_snapshot[] NOT NULL,  -- rows of a segment that its snapshot shows are sent
    settled_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    PRIMARY KEY (slice, top, number)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
{position_guard}
{end}
{end}
{if !parked_exists}
{parked_table}
{end}
{if !control_exists}
CREATE TABLE {control} (
    kind   pg_catalog.text NOT NULL CHECK (kind OPERATOR(pg_catalog.=)
               ANY (ARRAY['setting', 'paused sink', 'paused topic', 'paused key'])),
    name   pg_catalog.text NOT NULL CHECK (name OPERATOR(pg_catalog.<>) ''),
    value  pg_catalog.text,
    reason pg_catalog.text,
    set_by pg_catalog.text NOT NULL DEFAULT current_user,
    set_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
    PRIMARY KEY (kind, name),
    CHECK ((kind OPERATOR(pg_catalog.=) 'setting') OPERATOR(pg_catalog.=) (value IS NOT NULL)),
    CHECK (value IS NULL OR reason IS NULL),                               -- only a pause has a reason
    CHECK (pg_catalog.strpos(name, pg_catalog.chr(10)) OPERATOR(pg_catalog.=) 0) -- relays read a pause a line
);
COMMENT ON COLUMN {control}.kind IS 'what is paused; or setting, in which all relays of the outbox agree';
COMMENT ON COLUMN {control}.name IS 'of the sink, the pattern of the topics, the key; or of the setting';
COMMENT ON COLUMN {control}.value IS 'of the setting; NULL for a pause';
COMMENT ON COLUMN {control}.reason IS 'of the pause; NULL: none was given';
COMMENT ON COLUMN {control}.set_by IS 'the role that paused, or whose relay wrote the setting';
COMMENT ON COLUMN {control}.set_at IS 'since when it is paused, or set';
{schema_note}
{end}
{if partition_rows}
INSERT INTO {control} (kind, name, value) VALUES ('setting', 'partition rows', '{partition_rows}')
ON CONFLICT (kind, name) DO UPDATE SET value = EXCLUDED.value;
{end}
{end}
