-- use: lane number if numbered
-- Gives numbers to the rows that lock_unnumbered has locked, drawn from the sequence of the trigger. As long as no
-- relay has seen that all rows have one, the rows are those of before the trigger: their numbers are lower than all
-- that the trigger draws. Returns how many rows have a number now.
-- They are locked, and so have no number still: that condition would make the planner read all rows without a number.
-- $1 int4 -1: the rows have no key, and hence no order.
WITH relay_drawn AS MATERIALIZED (
    SELECT relay_row, nextval(to_regclass({order_sequence_text}))
                      - CASE WHEN $1::int4 = -1 OR {numbers_are_noted} THEN 0 ELSE {first_number} END AS relay_number
    FROM unnest(current_setting('outbox_relay.unnumbered')::tid[]) relay_given (relay_row)
), relay_touched AS (
    UPDATE {outbox} SET {id} = relay_drawn.relay_number FROM relay_drawn
    WHERE {outbox_name}.ctid = relay_drawn.relay_row
    RETURNING {outbox_name}.{id} AS relay_number
)
SELECT count(relay_number) FROM relay_touched
