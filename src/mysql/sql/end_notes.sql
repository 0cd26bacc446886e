-- Deletes notes: ? is a JSON array of their seq.
DELETE p FROM {each_parked}
