-- Part: whether the row of a copy is still in the outbox, from where `dead retry` copies it again.
{if in_place}
(SELECT bool_or(coalesce(relay_copy_identity, {identity}) = {identity})
 FROM (
     SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
     FROM {parked} copy
     WHERE copy.seq = chosen_seq AND copy.in_outbox
 ) relay_copy, {outbox}
 WHERE {id} = relay_copy_id AND ({unsent}) IS NOT TRUE)
{else}
NULL::bool
{end}
