-- Part of every claim: the values of the locked rows, with the names and in the order of fill.c. Of a statement that
-- only looks for the first row (first): where it is, and its id.
--
-- A row that changed before it was locked is returned in a version that the snapshot does not see; then everything up
-- to the current WAL position must be flushed. The age of its xmin shows whether this is possible.
--
-- A row above {inline_bytes} bytes is returned in full while the sum of such rows fits into the batch; the first one is
-- returned in any case. Of the others only the lengths are returned.
--
-- The sum is the setting outbox_relay.taken: it is written for each such row, and read for the next one, also by the
-- payload, which stays NULL if it is not converted; payload_is_null tells such a row from a tombstone.
--
-- A payload is not converted to text in vain. After the last row that fits, large values are not converted any more: 1
-- MiB of jsonb takes 2 ms. A value that is small on disk can take seconds, so none is converted once the claim has
-- lasted 500 ms; and after a claim that took too long, only the smallest are. The row is then claimed alone. Values
-- above 2,000 bytes are TOASTed: compressed or stored out of line.
--
-- blocked is not NULL when an earlier row of the same key is parked. A later one does not count: it waits for this row
-- (earlier.sql), so no two rows wait for each other; of two rows with one id the one in the outbox goes first. Nor does
-- the copy of a row of this claim, which its owner has brought back. Nothing is looked up while no row with a key is
-- parked. Otherwise each key of the batch is looked up only once, because the index may be full of dead entries.
--
-- is_known says whether the row of the outbox is known of which a parked row is a copy. NULL when it is no copy, and
-- when no row with its id is out of `where`: it was deleted, or brought back. False when that is another row that was
-- given the id, or the same one, changed so that it cannot be told from another.
--
-- OFFSET 0 keeps the planner from converting a payload to text twice, once for its length.
{if first}
SELECT relay_row, {locked_id}::text AS id{if from_refused}, relay_noted AS note, relay_is_sent AS is_sent{end}
FROM locked WHERE $2::int8 IS NOT NULL
{else}
SELECT CASE WHEN age(relay_xmin) > (SELECT snapshot_age FROM wal) THEN relay_row
            WHEN set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) IS NOT NULL THEN relay_row
       END AS relay_row,
       relay_xmin,
       id,
       event_id,
       CASE WHEN octet_length(topic) > 1025 THEN left(topic, 1025) ELSE topic END AS topic,
       CASE WHEN whole OR octet_length(key) <= {key_bytes_max} THEN key END AS key,
       CASE WHEN whole THEN type END AS type,
       CASE WHEN whole THEN payload END AS payload,
       CASE WHEN whole THEN headers END AS headers,
       created_at,
       CASE WHEN NOT whole THEN int8send(coalesce(octet_length(payload), -1)) || int8send(meta_len) END AS lengths,
       relay_slice,
       blocked,
       CASE WHEN whole THEN more_headers END AS more_headers,
       CASE WHEN not_before > clock_timestamp() THEN
           CASE WHEN isfinite(not_before)
                THEN ceil(least(extract(epoch FROM not_before - clock_timestamp()), 3155760000) * 1000)::int8
                ELSE 3155760000000 END END AS due_ms{if from_parked},
       attempts, waited_ms, replayed_at, relay_kept_problem AS problem, is_known, NULL::int8 AS note,
       NULL::bool AS is_sent{end}{if from_refused},
       attempts, waited_ms, replayed_at, NULL::text AS problem, NULL::bool AS is_known, relay_noted AS note,
       relay_is_sent AS is_sent{end}
FROM (
    SELECT *, CASE
        WHEN payload IS NULL AND NOT payload_is_null THEN false
        WHEN row_len <= {inline_bytes} THEN true
        WHEN octet_length(payload) > $2::int8 OR meta_len > {meta_bytes_max} THEN false
        ELSE set_config('outbox_relay.taken',
                        (coalesce(nullif(current_setting('outbox_relay.taken', true), '')::int8, 0) + row_len)::text,
                        true)::int8
                 <= greatest(row_len, {batch_bytes})
        END AS whole
    FROM (
        SELECT *, coalesce(octet_length(payload), 0) + meta_len AS row_len
        FROM (
            SELECT *, coalesce(octet_length(key), 0)::int8 + coalesce(octet_length(type), 0)
                          + coalesce(octet_length(headers), 0) +
                      {if computed_now}
                          coalesce(pg_column_size(more_headers), 0)
                      {else}
                          {if from_parked}coalesce(octet_length(array_send(more_headers)), 0){else}0{end}
                      {end}
                          AS meta_len
            FROM (
                SELECT relay_row, relay_xmin, {id_as_sent} AS id, {event_id_as_sent} AS event_id,
                       {topic_as_sent} AS topic, {key_as_sent} AS key, {type_as_sent} AS type,
                       {if converts_payload}
                       CASE WHEN pg_column_size(payload) <= CASE WHEN (
                                     SELECT coalesce(current_setting('outbox_relay.careful', true), '') <> ''
                                 ) THEN 100 ELSE 2000 END
                              OR NOT (SELECT coalesce(current_setting('outbox_relay.careful', true), '') <> '')
                                 AND clock_timestamp() < statement_timestamp() + interval '500 ms'
                                 AND coalesce(nullif(current_setting('outbox_relay.taken', true), '')::int8, 0)
                                     <= {batch_bytes}
                            THEN payload::text END AS payload,
                       {else}
                       {payload_as_sent} AS payload,
                       {end}
                       {headers_text} AS headers,
                       {if computed_now}relay_is_computed AND {end}payload IS NULL AS payload_is_null,
                       {created_at_as_sent} AS created_at, relay_slice,
                       {if tells_blocked}
                       CASE WHEN (SELECT EXISTS (SELECT FROM {parked} WHERE sent_at IS NULL AND key IS NOT NULL)) THEN
                           nullif(coalesce((id, {key_text}) IN (
                               SELECT blocked_id, key_text
                               FROM (
                                   SELECT {locked_key_text} AS key_text, array_agg({locked_id}) AS ids
                                   FROM locked AS {outbox_name} GROUP BY 1
                               ) keys,
                               LATERAL (
                                   SELECT parked.id AS first_id
                                   FROM {parked} parked
                                   WHERE parked.key IS NOT NULL
                                     AND hashtextextended(
                                             {if key_is_bytes}encode(parked.key, 'hex'){else}parked.key::text{end}, 0)
                                         = hashtextextended(keys.key_text, 0)
                                     AND {if key_is_bytes}encode(parked.key, 'hex'){else}parked.key::text{end}
                                         = keys.key_text
                                     AND parked.sent_at IS NULL
                                     AND (parked.in_outbox IS NOT TRUE OR parked.id <> ALL (ids))
                                   ORDER BY parked.id LIMIT 1
                               ) first,
                               unnest(ids) blocked (blocked_id)
                               WHERE first_id < blocked_id), false), false)
                       END AS blocked,
                       {else}
                       NULL::bool AS blocked,
                       {end}
                       {if has_more}more_headers{else}NULL::bytea[]{end} AS more_headers,
                       {if has_more}not_before{else}NULL::timestamptz{end} AS not_before{if from_parked},
                       attempts,
                       (extract(epoch FROM clock_timestamp() - parked_at) * 1000)::int8 AS waited_ms,
                       replayed_at, relay_kept_problem,
                       {if in_place}(
                           SELECT bool_or(coalesce(relay_copy_identity, {identity}) = {identity})
                           FROM (
                               SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
                               FROM {parked} copy
                               WHERE copy.ctid = relay_row AND copy.in_outbox
                           ) relay_copy, {outbox}
                           WHERE {id} = relay_copy_id AND ({unsent}) IS NOT TRUE
                       ){else}NULL::bool{end} AS is_known{end}{if from_refused},
                       relay_attempts AS attempts,
                       (extract(epoch FROM clock_timestamp() - relay_noted_at) * 1000)::int8 AS waited_ms,
                       NULL::timestamptz AS replayed_at, relay_noted, relay_is_sent{end}
                {if from_parked}
                {if computed}
                FROM {computed_parked}
                {else}
                FROM (
                    SELECT *, CASE WHEN raw IS NOT NULL THEN
                        'this row is kept as a whole, and no value of [outbox.columns] is computed now' END
                            AS relay_kept_problem
                    FROM locked OFFSET 0
                ) judged
                {end}
                {else}
                FROM {if computed}{computed_values}{else}locked{end}
                {end}
                OFFSET 0
            ) texts
        ) measured
    ) weighed
    OFFSET 0
) claimed
{end}
