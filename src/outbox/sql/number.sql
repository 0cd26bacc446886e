-- use: lane number if numbered
-- Gives numbers to unsent rows of a slice that have none, in the order of created_at, else in that in which they lie in
-- the table. Numbers are drawn from the sequence of the trigger. As long as no relay has seen that all rows have one,
-- the rows are those of before the trigger: their numbers are lower than all that the trigger draws. Returns how many
-- rows were chosen, and how many have a number now.
-- $1 int4 the slice, whose row of the slice table is locked; -1: the rows without a key.
WITH chosen AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT ctid AS relay_row
        FROM {outbox}
        WHERE {slice_of_row} = $1::int4 AND {id} IS NULL AND {unsent}
        ORDER BY {if has_created_at}{created_at}, {end}ctid LIMIT {numbers_max}
        FOR UPDATE
    ) keyed
    UNION ALL
    SELECT *
    FROM (
        SELECT ctid AS relay_row
        FROM {outbox}
        WHERE $1::int4 = -1 AND {slice_of_row} IS NULL AND {id} IS NULL AND {unsent}
        LIMIT {numbers_max}
        FOR UPDATE
    ) keyless
), numbered AS MATERIALIZED (
    SELECT relay_row,
           nextval(to_regclass({order_sequence_text}))
           - CASE WHEN (SELECT EXISTS (SELECT FROM {control}, {numbers_note} WHERE kind = 'setting' AND name = note))
                  THEN 0 ELSE {first_number} END AS number
    FROM chosen
), touched AS (
    UPDATE {outbox} SET {id} = number FROM numbered
    WHERE {outbox_name}.ctid = relay_row AND number IS NOT NULL
    RETURNING {id} AS number
)
SELECT (SELECT count(*) FROM chosen), (SELECT count(number) FROM touched)
