-- Part with on_sent = "position": what the positions are about (position_anew.sql); '': there are none. A partition
-- that comes or goes changes nothing of that.
coalesce((SELECT {if partitioned}substr(value, strpos(value, ' ')){else}value{end}
          FROM {control} WHERE kind = 'setting' AND name = 'position'), '')
