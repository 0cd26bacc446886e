-- Settles parked rows: ? is a JSON array of their seq.
{if deleting}
DELETE p FROM {each_parked}
{else}
UPDATE {each_parked}
SET p.state = 'sent', p.sent_at = UTC_TIMESTAMP(6), p.due = NULL, p.waits_for = NULL, p.error = NULL
{end}
