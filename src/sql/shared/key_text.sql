-- Part: the key of a row of the parked table, as text.
{if key_is_bytes}encode(key, 'hex'){else}key::text{end}
