-- use: check check_52_order if keyed
-- Of check: who keeps the order of a key, the order trigger or the application; and each condition that is broken. The
-- CACHE of the sequence is looked at with the sequence.
WITH keeper AS ({order_keeper}), broken AS (SELECT * FROM keeper WHERE is_there AND NOT holds)
SELECT 'ok' AS level, 'the order trigger locks each key before it draws the {if numbered}number{else}id{end}' AS text,
       '' AS fix
FROM keeper WHERE holds
UNION ALL
{if numbered}
SELECT 'error', 'no trigger numbers the rows: a relay numbers them when it finds them, and not in the order of their'
                ' events', 'outbox-relay init --order-trigger'
{else}
SELECT 'note', 'no trigger locks the keys: the application must lock each key before it inserts',
       '{if !partitioned}outbox-relay init --order-trigger{end}'
{end}
FROM keeper WHERE NOT is_there
UNION ALL
SELECT {if numbered}'error'{else}'warning'{end}, problem, remedy
FROM keeper WHERE problem IS NOT NULL AND ({if numbered}true{else}is_there{end})
UNION ALL
SELECT 'warning', format('the order trigger of %s is %s', {outbox_text},
                         CASE enabled WHEN 'A' THEN 'enabled as ALWAYS: it gives replicated rows other ids'
                                      ELSE 'disabled' END),
       format('ALTER TABLE %s ENABLE TRIGGER {order_trigger};', {outbox_text})
FROM broken WHERE enabled <> 'O'
UNION ALL
SELECT 'warning', format('the order trigger of %s is not the one that init makes with this configuration',
                         {outbox_text}),
       'outbox-relay init --order-trigger'
FROM broken WHERE NOT fits
UNION ALL
SELECT 'warning', format('the order trigger of %s draws from %s, which does not belong to column %s: the relay does not'
                         ' find it', {outbox_text}, {order_sequence_text}, {id_text}),
       format('ALTER SEQUENCE %s OWNED BY %s.%s;', {order_sequence_text}, {outbox_text}, {id_text})
FROM broken WHERE NOT owns_source
UNION ALL
SELECT 'warning', format('column %s of %s draws an id by its %s, which the order trigger throws away', {id_text},
                         {outbox_text}, draws),
       format('ALTER TABLE %s ALTER COLUMN %s DROP %s;', {outbox_text}, {id_text}, draws)
FROM broken WHERE draws IS NOT NULL
UNION ALL
SELECT 'warning', format('trigger %s of %s runs after the order trigger: if it changes the key or the id, order is not'
                         ' kept', later, {outbox_text}),
       format('ALTER TRIGGER %s ON %s RENAME TO a name that sorts before {order_trigger};', later, {outbox_text})
FROM broken WHERE later IS NOT NULL
UNION ALL
SELECT 'warning', format('function %s of the order trigger belongs to role %s, which can change what runs at each'
                         ' insert', function, owner),
       format('ALTER FUNCTION %s OWNER TO the owner of %s;', function, {outbox_text})
FROM broken WHERE function IS NOT NULL
UNION ALL
SELECT 'warning', 'until then the application must lock each key before it inserts', ''
FROM broken
