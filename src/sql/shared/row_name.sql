-- Part: what people call a parked row, as text: its id, or its event id where the relay goes by a number.
{if numbered}coalesce({shown_event_id}, {shown_id}){else}{shown_id}{end}
