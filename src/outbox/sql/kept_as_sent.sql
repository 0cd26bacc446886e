-- Part of mark_parked: the values of "relay_kept". Those of a row that is kept as a whole were computed for the claim
-- of this transaction, and are kept from now on: what is configured later must not change what a replay sends.
SELECT {carried_names} FROM (SELECT relay_kept.*) kept WHERE raw IS NULL
UNION ALL
SELECT {moved_columns}, {more_headers}, NULL
FROM (SELECT (json_populate_record(NULL::{outbox}, relay_kept.raw::json)).*) AS {outbox_name}
WHERE relay_kept.raw IS NOT NULL
