-- Part of the claims of parked rows: whether the row "relay_copy" may be sent. A copy may once this transaction has
-- locked its row in the outbox, so that the owner can neither bring it back within `where` meanwhile nor keep it from
-- being settled; or if the row is deleted. It may not (false) while another session has locked the row, and (NULL) when
-- the row is back: that one is sent, and ends its copy. The branches run in their order.
SELECT true AS is_free WHERE relay_in_outbox IS NOT TRUE
UNION ALL
SELECT true FROM (
    SELECT FROM {outbox}
    WHERE relay_in_outbox AND {id} = relay_copy_id AND ({unsent}) IS NOT TRUE
      AND coalesce(relay_copy_identity, {identity}) = {identity}
    {if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end} SKIP LOCKED LIMIT 1
) relay_held
UNION ALL
SELECT CASE WHEN count(*) = 0 THEN true WHEN bool_or(({unsent}) IS NOT TRUE) THEN false END
FROM {outbox}
WHERE {id} = relay_copy_id AND coalesce(relay_copy_identity, {identity}) = {identity}
LIMIT 1
