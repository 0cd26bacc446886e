-- use: lane sent
-- Settles rows of the outbox by their mark. With on_sent = "delete" they are deleted; with "position" only those that
-- had a note are marked. A row whose mark a trigger has taken back is not settled. A trigger or a rule can turn the
-- statement into a silent no-op, so a wrong count is an error; otherwise the COMMIT after it in the pipeline would
-- succeed. Rows are addressed by ctid: the claim's lock keeps a row version in its place until the transaction ends,
-- and a Tid Scan cannot be planned badly.
-- $1 tid[] rows; $2 int4 their number; in a partitioned table, where ctids repeat, also $3 text[] their ids.
WITH touched AS (
    {if !deleting}
    UPDATE {outbox} SET {mark}
    WHERE ctid = ANY ($1::tid[]){if partitioned} AND {id}::text = ANY ($3::text[]){end}
    RETURNING ({unsent}) IS NOT TRUE AS settled
    {else}
    DELETE FROM {outbox}
    WHERE ctid = ANY ($1::tid[])
    RETURNING 1
    {end}
)
{count_settled}
{if !deleting}
WHERE settled
{end}
