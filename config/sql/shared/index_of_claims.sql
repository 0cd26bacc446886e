-- Part: the index by which claims find the rows that are not sent.
{if sets_path}SET search_path = '';{if has_escapes} SET standard_conforming_strings = on;{end}
{end}CREATE INDEX {if concurrently}{if !partitioned}CONCURRENTLY {end}{end}{claim_index} ON {outbox} ({if by_slice}{slice_in_full}, {end}{id}){if unsent} WHERE {unsent}{end};
