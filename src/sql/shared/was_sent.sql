-- Part: the row of the outbox was sent. With a mark of its own, `where` says what is unsent. What was marked before a
-- relay sent anything from a table that `init` did not create is not the relay's: the condition was noted then.
{if own_mark}{where} IS NOT TRUE
    AND {sent_time} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition'){else}{where}
    {if !own_table}AND {sent_time} >= (
        SELECT set_at FROM {control} WHERE kind = 'setting' AND name = 'condition'){end}{end}
