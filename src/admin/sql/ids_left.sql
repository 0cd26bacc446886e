-- use: desk ids_left if integer_ids
-- How many ids are left, whether that is less than a fifth, and whether the column's type is what limits them. The
-- highest id that is there counts when the sequence was not used yet, may not be read, or is not known.
-- $1 oid the sequence, or 0; $2 numeric and $3 numeric the lowest and the highest id that the column can hold.
SELECT trunc((edge - last) / step), (edge - last) / step < (edge - origin) / step / 5,
       edge IN ($2::numeric, $3::numeric)
FROM (
    SELECT coalesce(seqincrement, 1)::numeric AS step,
           coalesce(CASE WHEN has_sequence_privilege(seqrelid, 'SELECT, USAGE')
                         THEN pg_sequence_last_value(seqrelid) END,
                    {if id_is_unique}(SELECT max({id}) FROM {outbox}){else}NULL::int8{end},
                    seqstart - seqincrement, 0)::numeric AS last,
           CASE WHEN seqincrement < 0 THEN greatest(seqmin, $2::numeric) ELSE least(seqmax, $3::numeric) END AS edge,
           CASE WHEN seqincrement < 0 THEN least(seqmax, 0) ELSE greatest(seqmin, 0) END AS origin
    FROM (VALUES ($1::oid)) id (sequence)
    LEFT JOIN pg_catalog.pg_sequence ON seqrelid = sequence
) ends
