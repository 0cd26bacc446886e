-- The value of a setting.
SELECT c.value FROM {control} c WHERE c.kind = 'setting' AND c.name = {setting}
