-- Part of `dead retry`: "left_out", the chosen dead rows that would overtake a row of their key, which waits in the
-- outbox for a sink that is away. A dead row may get that sink when it is tried again: its values, the routes or its
-- topic may have been corrected.
heads AS MATERIALIZED (
    SELECT seq AS head_seq, id AS head_id, {key_text:key} AS head_key, {slice_of_parked} AS head_slice
    FROM {parked}
    WHERE sent_at IS NULL AND state = 'dead' AND {is_chosen}
), waiting AS MATERIALIZED (
    SELECT DISTINCT ON (waiting_key) waiting_key, waiting_id
    FROM (SELECT {key_text:row_key} AS waiting_key, row_id AS waiting_id
          FROM (SELECT {key} AS row_key, {id} AS row_id
                FROM {outbox}
                WHERE {claimable} AND {slice_of_row} = ANY (ARRAY(SELECT head_slice FROM heads))) unsent) unsent
    WHERE waiting_key IN (SELECT head_key FROM heads)
    ORDER BY waiting_key, waiting_id
), left_out AS MATERIALIZED (
    SELECT array_agg(head_seq) AS seqs FROM heads JOIN waiting ON waiting_key = head_key AND waiting_id < head_id
),
