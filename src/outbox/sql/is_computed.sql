-- Part of computed_values: whether the payload of this row is computed now; if not, the row is claimed alone
-- (payload_text.sql).
NOT {is_careful} AND clock_timestamp() < statement_timestamp() + interval '500 ms' AND {taken_bytes} <= {batch_bytes}
