-- Generators that were leased go on by themselves: behind what was told here, and those of columns behind all values there.
set local session_replication_role to replica;
do $$
declare
    g record;
    furthest bigint;
begin
    if to_regclass('gorda.generator') is null then
        return;
    end if;
    for g in select b.relid, b.increment, d.refobjid::regclass as named, a.attname
        from gorda.generator b join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = b.relid
            and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
            join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    loop
        execute format('select %s(%I) from %s', case when g.increment > 0 then 'max' else 'min' end, g.attname, g.named) into furthest;
        update gorda.generator b set next = furthest::numeric + b.increment
            where b.relid = g.relid and (furthest::numeric + b.increment - b.next) * sign(b.increment) > 0;
    end loop;
    perform gorda.unbind_all();
end $$;
-- Leaves no trace: the triggers go with their functions.
drop schema if exists gorda cascade;
