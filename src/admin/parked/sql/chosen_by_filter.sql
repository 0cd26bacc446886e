-- Part: "chosen", a page of the rows that fit a filter, among the dead rows or among all; "missing_words", how
-- many of them `dead retry` leaves out.
{left_out}missing_words AS (
    SELECT {left_out_count} AS words
), chosen AS MATERIALIZED (
    SELECT seq AS chosen_seq
    FROM {parked}
    WHERE sent_at IS NULL AND {is_choosable} AND seq > $1::int8 AND seq < $2::int8
      AND {is_chosen}
    ORDER BY seq {direction} LIMIT {page_rows}{row_lock}
)
