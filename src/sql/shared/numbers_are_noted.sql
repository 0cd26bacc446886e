-- Part: a relay has seen that all rows of before the numbers have theirs.
(SELECT EXISTS (SELECT FROM {control}, {numbers_note} WHERE kind = 'setting' AND name = note))
