-- Part of claim_slices: the rows of the locked slices, which it locks; with on_sent = "position" only one whose values
-- cannot be read, which is parked by its place alone (park_raw.sql).
SELECT taken.*, relay_slice
FROM ROWS FROM (
         unnest(current_setting('outbox_relay.slices')::int4[]),
         unnest(current_setting('outbox_relay.lows')::int8[])
         {if !lean}, unnest(current_setting('outbox_relay.highs')::int8[]){end}
     ) AS bounds (relay_slice, relay_low{if !lean}, relay_high{end}),
     {if position}
     {progress_at},
     {end}
     LATERAL (
         SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin,
                {row_values}
         FROM {outbox}
         WHERE {if lean}true{else}(SELECT lsn FROM wal) IS NOT NULL{end}
           {if position}
           AND (SELECT set_config('outbox_relay.claimed', pg_current_snapshot()::text, true)) IS NOT NULL
           {end}
           AND ({slice_of_row}, {id}) >= (
                   relay_slice,
                   {if position}greatest(relay_from, {end}
                   {if lean}relay_low{else}CASE WHEN (SELECT running FROM held) THEN relay_high ELSE relay_low END{end}
                   {if position}){end})
           AND {slice_of_row} < relay_slice + 1
           {if partitioned}
           AND {id} >= greatest(relay_from, {if lean}relay_low{else}CASE WHEN (SELECT running FROM held)
                                                                   THEN relay_high ELSE relay_low END{end})
           {end}
           AND {if position}{is_unsent_at}{else}{unsent}{end}
           {if !lean}
           AND CASE WHEN {is_not_noted} THEN ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0) END
           {end}
         ORDER BY {slice_of_row}, {outbox_name}.{id}
         LIMIT (
             SELECT ({limit} - 1 + slice_count) / slice_count
             FROM (
                 SELECT greatest(cardinality(current_setting('outbox_relay.slices')::int4[]), 1) AS slice_count
             ) counted)
         {if position}
         {if first}FOR UPDATE{end}
         {else}
         {if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end}
         {end}
     ) taken
LIMIT {limit}
