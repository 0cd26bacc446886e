-- use: lane remaining
-- Whether there are unsent rows, locked ones included, or parked rows whose time has come; and the number of parked
-- and dead rows, counted up to 1,000. A row without an id can never be claimed: a drain counts it without waiting for
-- it, unless a relay gives it a number; so it does when PostgreSQL refuses the number, with the rows of the slice that
-- wait for it.
-- $1 text[] what this relay's configuration declines: rows that wait for it are left to others.
-- $2 int4, only of numbers: 1: none can be given.
SELECT EXISTS (
           SELECT FROM {if position}{position_rows}{else}{outbox}{end}
           WHERE {if position}true{else}{unsent}{end}
             {if numbered}
             AND CASE WHEN $2::int4 = 0 THEN {id} IS NULL OR {is_not_noted}
                      ELSE {id} IS NOT NULL AND {is_not_noted} AND ({numbers_are_noted} OR coalesce(
                          {slice_of_row} <> ALL (ARRAY(
                              SELECT relay_slice
                              FROM generate_series(0, {slices} - 1) relay_slices (relay_slice)
                              WHERE EXISTS (SELECT FROM {outbox}
                                            WHERE {slice_of_row} = relay_slice AND {id} IS NULL AND {unsent}))),
                          true)) END)
             {else}
             AND {is_not_noted}
             AND {if id_is_not_null}true{else}{id} IS NOT NULL{end})
             {end}
       OR EXISTS (
           SELECT FROM {parked} head
           WHERE due <= now() AND sent_at IS NULL AND state <> 'dead' AND {is_head}
             AND coalesce(waits_for <> ALL ($1::text[]), true)),
       (SELECT count(*) FROM (SELECT FROM {parked} WHERE sent_at IS NULL LIMIT 1000) counted)
           + {if id_is_not_null}0{else}(
           SELECT count(*)
           FROM (SELECT FROM {outbox}
                 WHERE {id} IS NULL AND {unsent}{if numbered} AND $2::int4 = 1{end} LIMIT 1000) lost){end}
