-- Part: a row's created_at of a type of date and time as a timestamptz; NULL where that is none from 1970 to 9998. It
-- fails for no row.
CASE WHEN {argument} >= '1970-01-02' AND {argument} < '9998-12-31' THEN {argument}::timestamptz END
