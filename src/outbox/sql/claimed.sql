-- use: lane claimed
-- Runs after a claim in its transaction, and returns facts about the whole claim, with the names and in the order of
-- round.c. The pauses are read here, by a snapshot that is younger than the table lock of this transaction:
-- `pause` waits for those who held that lock when it committed, so that all others have seen it. The last column ends
-- `hurry`.
--
-- token changes whenever one of the tables has: PostgreSQL computes the literal 'now' when it parses the statement,
-- which it does again once it has dropped the prepared one because of a change of a table that the statement names.
--
-- era is what the positions are about; NULL: ids have begun anew since (position_anew.sql). It is asked after the
-- claim: had they begun anew between the question and the claim, its snapshot would show rows that it does not read.
SELECT current_setting('synchronous_standby_names') = ''
           AND pg_current_wal_flush_lsn() >= nullif(current_setting('outbox_relay.wal', true), '')::pg_lsn AS flushed,
       pg_current_xact_id_if_assigned() AS xact,
       transaction_timestamp() AS began,
       clock_timestamp() AS done,
       nullif(current_setting('outbox_relay.read_high', true), '')::bool AS high,
       ({pauses}) AS pauses,
       CASE WHEN NOT EXISTS (SELECT FROM {outbox} WHERE false)
                {if by_slice}
                AND NOT EXISTS (SELECT FROM {slice_table} WHERE false)
                {end}
            THEN 'now'::timestamptz END AS token,
       {if position}
       CASE WHEN EXISTS (
               SELECT FROM {control}
               WHERE kind = 'setting' AND name = 'position' AND starts_with(value, ({position_nodes}) || ' '))
           {if sequence}
           AND coalesce(nullif(current_setting('outbox_relay.drawn', true), '')::int8
                        <= coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'::int8), true)
           {end}
           THEN {era} END
       {else}
       ''
       {end} AS era,
       CASE WHEN EXISTS (SELECT FROM {parked} WHERE {is_note}) THEN
           EXISTS (SELECT FROM {parked} WHERE {is_note} AND due <= statement_timestamp())
       END AS refused,
       {if keyed}
       EXISTS (SELECT FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL OFFSET {few_parked})
       {else}
       false
       {end}
           AS parked,
       pg_snapshot_xmin(nullif(current_setting('outbox_relay.snapshot', true), '')::pg_snapshot) AS oldest,
       hashtext(current_setting('synchronous_standby_names')) AS standbys,
       set_config('statement_timeout', '{statement_ms}', true)
