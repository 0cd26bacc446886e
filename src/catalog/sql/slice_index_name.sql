-- use: desk slice_index_name if by_slice
-- The name for a new index by slices: STEM_slice_idx, or another one when that is taken.
-- $1 name the schema; $2 text the stem of the names; $3 text the other name.
SELECT CASE WHEN EXISTS (
                SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2 || '_slice_idx') THEN $3
            ELSE $2 || '_slice_idx' END
