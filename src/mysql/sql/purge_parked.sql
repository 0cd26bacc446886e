-- Deletes parked rows that were sent so many seconds ago: ? is a JSON array of their seq.
DELETE p FROM {each_parked} WHERE p.state = 'sent'
