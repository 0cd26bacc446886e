-- use: lane renote
-- Changes notes. $1 int8[] their seq; $2 int4 their number; $3 to $6 are those of note.sql.
WITH given AS (
    SELECT *
    FROM ROWS FROM (unnest($1::int8[]), unnest($3::text[]), unnest($4::int4[]), unnest($5::int8[]), unnest($6::text[]),
                    unnest($7::text[])) AS g (noted, error, attempts, wait_ms, state, relay_id)
), touched AS (
    UPDATE {parked} o SET error = g.error, attempts = g.attempts, state = g.state,
                          due = clock_timestamp() + g.wait_ms * interval '1 millisecond'
    FROM given g
    WHERE o.seq = g.noted
    RETURNING 1
)
{count_settled}
