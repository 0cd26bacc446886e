-- Part: the number of the schema. Relays that know only a lower one leave the tables alone.
COMMENT ON TABLE {control} IS 'outbox-relay: schema {schema_number}; what is paused, and what all relays of the outbox agree on';
