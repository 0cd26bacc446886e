-- Part: a row's created_at as a timestamptz; NULL where that is none from 1970 to 9998. It fails for no row, whatever
-- an application has written into a column of text: there the day is added to the first of its month, because a month
-- may have no such day.
{if created_at_is_date}CASE WHEN created_at >= '1970-01-02' AND created_at < '9998-12-31'
     THEN created_at::timestamptz END{else}CASE WHEN left(created_at::text, 64) COLLATE "C"
          ~ ('^(19[7-9][0-9]|[2-8][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[ T]'
             || '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?'
             || '( ?(Z|UTC|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?))?$')
     THEN (left(created_at::text, 8) || '01' || substr(left(created_at::text, 64), 11))::timestamptz
          + (substr(created_at::text, 9, 2)::int4 - 1) * interval '1 day' END{end}
