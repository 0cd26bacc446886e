-- Part: the size of a parked payload.
{if left_out}NULL::bigint{else}octet_length(payload{if !$bytes}::text{end}){end}
