-- Part: the row of the outbox is the one of the copy "relay_copy". Another event may have its id after a TRUNCATE.
{id} = relay_copy_id
AND (relay_copy_event IS NULL OR coalesce({noted_event_id}, relay_copy_event) = relay_copy_event)
