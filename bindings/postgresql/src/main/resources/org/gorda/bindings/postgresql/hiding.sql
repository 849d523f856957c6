-- Functions by which changes would escape the triggers that tell of them, as far as their texts show it.
select f.oid from (select p.oid, pg_catalog.regexp_replace(pg_catalog.concat_ws(E'\n', pg_catalog.array_to_string(p.proconfig, E'\n'), p.prosrc, pg_catalog.pg_get_function_sqlbody(p.oid)),
        E'current_setting\\s*\\(\\s*''session_replication_role''', '', 'gi')
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.oid >= 16384 and n.nspname <> 'gorda' offset 0) f (oid, text)
where f.text ~* E'session_replication_role|^event_triggers=|\\mset\\s+((local|session)\\s+)?"?event_triggers\\M|''event_triggers'''
