-- Another partition of the outbox. It is made apart and attached, which keeps no INSERT out.
CREATE TABLE {partition} (LIKE {outbox} INCLUDING ALL EXCLUDING IDENTITY);
ALTER TABLE {outbox} ATTACH PARTITION {partition} FOR VALUES FROM ({partition_from}) TO ({partition_to});
