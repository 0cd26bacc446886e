-- use: desk order_keeper if by_slice
-- The order trigger of the outbox: whether it is there; whether nothing is missing that the SQL of init adds; whether
-- it locks the key of each row, so that the application need not; why none can keep the order of this table, and what
-- helps; and what the findings about it say.
SELECT is_there, is_there AND enabled = 'O' AND fits AND owns_source AND cache = 1 AND draws IS NULL AS is_whole,
       is_there AND enabled = 'O' AND fits AND owns_source AND cache = 1 AND draws IS NULL
           AND NOT is_by_id AND NOT is_others AND function IS NULL AND later IS NULL AND generated IS NULL AS holds,
       CASE WHEN is_others THEN
                format('column %s of %s is there, and no column that init has added: it would be written over',
                       {id_text}, {outbox_text})
            WHEN is_by_id THEN
                format('no trigger can draw the ids of %s: it is a partition that is chosen by column %s, before'
                       ' triggers run', {outbox_text}, {id_text})
            WHEN generated IS NOT NULL THEN
                format('no trigger can lock the key of %s: column %s is generated, and has no value yet when triggers'
                       ' run', {outbox_text}, generated) END AS problem,
       CASE WHEN is_others THEN 'name another column as order in [outbox.columns]'
            WHEN is_by_id THEN 'let the application lock the key (docs/order.md), or write the rows into an outbox of'
                               ' the relay''s own: outbox-relay init --feed'
            ELSE 'write its expression as the key in [outbox.columns]' END AS remedy,
       enabled, fits, owns_source, draws, later, function, owner
FROM (
    SELECT t.tgname IS NOT NULL AS is_there, t.tgenabled AS enabled,
           -- 7 is TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT (pg_trigger.h), and nothing else.
           coalesce(t.tgtype = 7 AND t.tgqual IS NULL AND p.prosrc = {order_body} AND NOT p.prosecdef
                    AND p.prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'plpgsql')
                    AND p.proconfig IS NOT DISTINCT FROM {order_config}::text[]
                    {if numbered}
                    -- The trigger by which a number stays: 19 is TRIGGER_TYPE_UPDATE with the first two.
                    AND EXISTS (SELECT FROM pg_catalog.pg_trigger k
                                WHERE k.tgrelid = c.oid AND k.tgname = '{order_trigger}_kept' AND k.tgtype = 19
                                  AND k.tgenabled = 'O')
                    {end}
                    , false) AS fits,
           -- Whether the sequence of that name belongs to the id column.
           EXISTS (SELECT FROM pg_catalog.pg_depend d
                   WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = to_regclass({order_sequence_text})
                     AND d.deptype = 'a' AND d.refclassid = 'pg_catalog.pg_class'::regclass
                     AND d.refobjid = c.oid AND d.refobjsubid = a.attnum) AS owns_source,
           coalesce((SELECT cache FROM ({id_sequence}) drawn WHERE step > 0 AND NOT cycles), 0) AS cache,
           -- What the id column draws by itself.
           CASE WHEN a.attidentity <> '' THEN 'IDENTITY' WHEN a.atthasdef THEN 'DEFAULT' END AS draws,
           -- The last trigger that runs after it and may change the row.
           (SELECT quote_ident(max(o.tgname::text COLLATE "C"))
            FROM pg_catalog.pg_trigger o
            WHERE o.tgrelid = c.oid AND NOT o.tgisinternal AND o.tgenabled IN ('O', 'A') AND o.tgtype & 7 = 7
              AND o.tgname > t.tgname) AS later,
           -- A column for numbers that no sequence belongs to.
           {if numbered}
           a.attnum IS NOT NULL AND NOT EXISTS (
               SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_sequence s ON s.seqrelid = d.objid
               WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'a'
                 AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = c.oid
                 AND d.refobjsubid = a.attnum)
           {else}
           false
           {end}
               AS is_others,
           -- A generated column of the key.
           (SELECT quote_ident(k.attname)
            FROM pg_catalog.pg_attribute k
            WHERE k.attrelid = c.oid AND k.attgenerated <> ''
              AND (k.attname = {key_name}
                   OR strpos(', ' || {key_columns}, ', ' || quote_ident(k.attname) || ' = DEFAULT') > 0)
            LIMIT 1) AS generated,
           -- Whether the outbox is a partition that is chosen by the id.
           EXISTS (SELECT FROM pg_partition_ancestors(c.oid) n (relid)
                   JOIN pg_catalog.pg_partitioned_table r ON r.partrelid = n.relid
                   JOIN pg_catalog.pg_attribute k ON k.attrelid = n.relid AND k.attname = {id_name}
                   WHERE k.attnum = ANY (r.partattrs)) AS is_by_id,
           f.name AS function, f.owner
    FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = {id_name}
    LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname = '{order_trigger}'
    LEFT JOIN pg_catalog.pg_proc p
        ON p.oid = t.tgfoid AND p.pronamespace = c.relnamespace AND p.proname = ({stem_text} || '_order')::name
    LEFT JOIN LATERAL (
        -- The first function of init's that belongs to neither the outbox's owner nor a superuser.
        SELECT o.oid::regprocedure AS name, pg_get_userbyid(o.proowner) AS owner
        FROM pg_catalog.pg_proc o
        WHERE (o.oid = t.tgfoid
               OR o.pronamespace = c.relnamespace
                  AND (o.proname IN (({stem_text} || '_order')::name, ({stem_text} || '_gate')::name,
                                      ({stem_text} || '_order_kept')::name) AND o.pronargs = 0
                       OR o.proname = ({stem_text} || '_bucket')::name AND o.pronargs = 1))
          AND o.proowner <> c.relowner
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = o.proowner AND r.rolsuper)
        ORDER BY o.oid LIMIT 1
    ) f ON true
    WHERE c.oid = {outbox_oid}
) trigger
