-- use: run check_22_index if !has_claim_index !sql_is_refused
-- Of check and run: the index that claims go by. With order = "key" a relay does not start without it.
SELECT {if by_slice}'error'{else}'warning'{end} AS level,
       format('table %s has no index over its unsent rows{if has_where} within [outbox] where{end}'
              ' by {if by_slice}slice and %s: each claim would read the whole table{else}%s: claims will be slow{end}',
              {outbox_text}, {id_text}) AS text,
       {index_text} AS fix
-- Another problem is a missing column, and the index by slices would be another one.
WHERE {if by_slice}{if has_needed}true{else}false{end}{else}true{end}
