-- Part: the condition for a parked row that fits the filter of `dead`.
($3::text IS NULL OR type::text = $3)
      AND ($4::text IS NULL OR topic::text = $4)
      AND ($5::text IS NULL OR topic::text ~ $5)
      AND ($6::timestamptz IS NULL OR parked_at >= $6::timestamptz)
