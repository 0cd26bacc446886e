-- Part: sent_at and topic are among those to be replayed, with the parameters of replay_chosen.sql.
($2::timestamptz IS NULL OR sent_at >= $2::timestamptz) AND sent_at < $3::timestamptz
AND ($4::text IS NULL OR topic::text = $4::text)
AND ($5::text IS NULL OR topic::text ~ $5::text)
