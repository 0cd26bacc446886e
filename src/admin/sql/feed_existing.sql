-- Part: the rows that a fed table has already, written into the outbox in their order.
INSERT INTO {outbox} (
        {feed_columns}
    )
    SELECT
        {feed_values}
    FROM {source} AS new
    WHERE {feed_unsent}
    ORDER BY {feed_order};
