-- use: lane remaining
-- Whether there are unsent rows, locked ones included, or parked rows whose time has come; and the number of parked
-- and dead rows, counted up to 1,000. A row without an id can never be claimed: a drain counts it without waiting for
-- it, unless a relay gives it a number.
-- $1 text[] what this relay's configuration declines: rows that wait for it are left to others.
SELECT EXISTS (
           SELECT FROM {if position}{position_rows}{else}{outbox}{end}
           WHERE {if position}true{else}{unsent}{end}
             AND {if numbered}({id} IS NULL OR {is_not_noted}){else}{is_not_noted}
             AND {if id_is_not_null}true{else}{id} IS NOT NULL{end}{end})
       OR EXISTS (
           SELECT FROM {parked} head
           WHERE due <= now() AND sent_at IS NULL AND state <> 'dead' AND {is_head}
             AND coalesce(waits_for <> ALL ($1::text[]), true)),
       (SELECT count(*) FROM (SELECT FROM {parked} WHERE sent_at IS NULL LIMIT 1000) counted)
           + {if id_is_not_null}0{else}{if numbered}0{else}(
           SELECT count(*) FROM (SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent} LIMIT 1000) lost){end}{end}
