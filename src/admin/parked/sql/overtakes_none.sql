-- Part: the dead row "head" would overtake no row of its key. A row that is kept as a whole may turn out to have the
-- topic of a sink that is away, for which earlier rows of its key wait in the outbox. Every other dead row has a known
-- topic: the earlier rows for it left the outbox before this row did.
(raw IS NULL OR key IS NULL OR NOT EXISTS (
    SELECT
    FROM (SELECT {slice_of_parked} AS head_slice) own,
         LATERAL (
             SELECT {key} AS waiting_key
             FROM {outbox}
             WHERE {slice_of_row} >= head_slice AND ({slice_of_row}, {id}) < (head_slice, head.id) AND {claimable}
         ) waiting
    WHERE {key_text:waiting_key} = {key_text:head.key}))
