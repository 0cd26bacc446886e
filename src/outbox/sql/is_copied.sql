-- Part: the row of the outbox is the one of the copy "relay_copy", and no other that was given its id.
{id} = relay_copy_id AND {is_out} AND coalesce(relay_copy_identity, {identity}) = {identity}
