-- Part of a FROM: the name of the note in the control table that all rows have got numbers once.
(SELECT 'numbered ' || attrelid || ' ' || attnum AS note
 FROM pg_catalog.pg_attribute WHERE attrelid = {outbox_oid} AND attname = {id_name}) noted_column
