-- Part of park_in_place: no other row of the key that is parked now comes before the row "head".
(head.key IS NULL OR NOT EXISTS (
    SELECT FROM taken earlier
    WHERE {key_text:earlier.key} = {key_text:head.key} AND earlier.id < head.id))
