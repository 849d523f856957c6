-- What cannot be replicated: whether that is an obstacle, what it is, what about it, what to do.
select c.relkind = 'r' and c.relpersistence = 'p', 'table ' || c.oid::regclass,
    case when c.relkind = 'f' then 'it is a foreign table, whose rows are not in this database: they cannot be changed'
        when c.relpersistence = 'u' then 'it is UNLOGGED, and lost in a crash: its rows cannot be changed'
        when k.oid is not null then format('its primary key %I is DEFERRABLE, so that rows may share it: its rows cannot be updated or deleted', conname)
        else 'it has no primary key, by which replicas find a row: its rows cannot be updated or deleted' end,
    case when c.relkind = 'f' then 'change them where they are'
        when c.relpersistence = 'u' then format('ALTER TABLE %s SET LOGGED', c.oid::regclass)
        when k.oid is not null then format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %s', c.oid::regclass, conname,
            regexp_replace(pg_get_constraintdef(k.oid), ' DEFERRABLE( INITIALLY DEFERRED)?$', ''))
        else format('ALTER TABLE %s ADD PRIMARY KEY (...)', c.oid::regclass) end
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_constraint k on k.conrelid = c.oid and k.contype = 'p' and k.condeferrable
where n.nspname not in ('gorda', 'information_schema') and n.nspname not like E'pg\\_%'
    and (c.relkind = 'f' or c.relkind = 'r' and (c.relpersistence = 'u' or c.relpersistence = 'p'
        and not exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary and i.indimmediate)))
union all
select true, case contypid when 0 then 'table ' || conrelid::regclass else 'domain ' || contypid::regtype end,
    format('each replica would check its constraint %I by its own time or user, also what is old already', conname),
    'drop it; have a trigger check it, which only the origin calls'
from pg_catalog.pg_constraint k
where contype = 'c' and connamespace <> 'information_schema'::regnamespace and (conbin::text ~ 'SQLVALUEFUNCTION' or exists (select from pg_catalog.pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.proname in ('now', 'clock_timestamp', 'statement_timestamp', 'transaction_timestamp',
        'timeofday', 'random', 'gen_random_uuid', 'current_user', 'session_user') and k.conbin::text ~ ('funcid ' || p.oid || E'\\M')))
union all
select true, case contypid when 0 then 'table ' || conrelid::regclass else 'domain ' || contypid::regtype end,
    format('its constraint %I calls %s, which is not IMMUTABLE: a replica may check a row by others than its origin', conname, p.oid::regprocedure),
    format('ALTER FUNCTION %s IMMUTABLE if it depends on nothing but what it is given; otherwise have a trigger check it', p.oid::regprocedure)
from pg_catalog.pg_constraint k join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = k.oid
    left join pg_catalog.pg_operator o on d.refclassid = 'pg_catalog.pg_operator'::regclass and o.oid = d.refobjid
    join pg_catalog.pg_proc p on p.oid = case d.refclassid when 'pg_catalog.pg_proc'::regclass then d.refobjid else o.oprcode end
where contype = 'c' and p.provolatile <> 'i'
union all
select true, 'table ' || relid::regclass, format('PARTITION BY HASH of %s puts its rows into other partitions on each server, by the numbers that it has given its values', min(type::text)),
    'make it anew, partitioned BY LIST or RANGE, or by another column'
from (${hashed}) h group by relid
union all
select true, case relkind when 'c' then 'type ' else 'table ' end || relid::regclass,
    format('a server cannot read the name in its column %I if several are called so: its rows cannot be changed', attname),
    format(case relkind when 'c' then 'ALTER TYPE %s ALTER ATTRIBUTE %I TYPE %s' else 'ALTER TABLE %s ALTER COLUMN %I TYPE %s' end, relid::regclass, attname,
        replace(replace(type::text, 'regproc', 'regprocedure'), 'regoper', 'regoperator'))
from (${ambiguous}) a
union all
select true, object, case kind when 'event trigger' then 'what it changes of the schema is refused, and ' else '' end || 'no other replica can be given a copy of the database',
    'drop it, or copy the database to the others by PostgreSQL''s own means'
from (${uncopied}) u
union all
select true, coalesce('role ' || quote_ident(rolname), 'database ' || quote_ident(current_database())), 'no trigger would see what its sessions change, so that they are refused: ' || setting,
    case when rolname is null and setdatabase <> 0 then format('ALTER DATABASE %I RESET %s', current_database(), split_part(setting, '=', 1))
        else format('ALTER ROLE %s%s RESET %s', coalesce(quote_ident(rolname), 'ALL'),
            case when setdatabase <> 0 then format(' IN DATABASE %I', current_database()) else '' end, split_part(setting, '=', 1)) end
from (${unseen}) u
union all
select true, 'large objects', 'there are ' || count(*) || ' of them, which are not replicated', 'store them as bytea'
from pg_catalog.pg_largeobject_metadata having count(*) > 0
union all
select true, 'subscription ' || subname, 'what it brings is not captured', format('DROP SUBSCRIPTION %I on the server itself', subname)
from pg_catalog.pg_subscription where subdbid = (select oid from pg_catalog.pg_database where datname = current_database())
union all
select false, 'extension amcheck', 'the server does not have it: replicas do not compare indexes with their tables', 'install the packages of contrib'
where not exists (select from pg_catalog.pg_available_extensions where name = 'amcheck')
order by 2
