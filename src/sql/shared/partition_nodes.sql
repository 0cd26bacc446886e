-- Part: a number that stands for the partitions of the outbox. One that is being detached is another one.
(SELECT coalesce(hashtext(string_agg(concat(inhrelid, to_jsonb(part) ->> 'inhdetachpending'), ' ' ORDER BY inhrelid))
                 & 2147483647, 0)::int8 + 1
 FROM pg_catalog.pg_inherits part WHERE inhparent = {outbox_oid})
