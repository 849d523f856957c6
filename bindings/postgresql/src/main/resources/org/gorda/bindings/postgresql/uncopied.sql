-- What schema.sql cannot make again, but for what an extension or a type brings with it.
select kind, kind || ' ' || name as object
from (
    select 'aggregate' as kind, oid::regprocedure::text as name, 'pg_catalog.pg_proc'::regclass as class, oid from pg_catalog.pg_proc
        where prokind = 'a' and oid >= 16384 and pronamespace::regnamespace::text !~ '^pg_'
    union all select 'operator', oid::regoperator::text, 'pg_catalog.pg_operator', oid from pg_catalog.pg_operator where oid >= 16384
    union all select 'operator class', opcnamespace::regnamespace || '.' || quote_ident(opcname), 'pg_catalog.pg_opclass', oid from pg_catalog.pg_opclass where oid >= 16384
    union all select 'operator family', opfnamespace::regnamespace || '.' || quote_ident(opfname), 'pg_catalog.pg_opfamily', oid from pg_catalog.pg_opfamily where oid >= 16384
    union all select 'cast', format('%s as %s', castsource::regtype, casttarget::regtype), 'pg_catalog.pg_cast', oid from pg_catalog.pg_cast where oid >= 16384
    union all select 'collation', collname, 'pg_catalog.pg_collation', oid from pg_catalog.pg_collation where oid >= 16384
    union all select 'type', oid::regtype::text, 'pg_catalog.pg_type', oid from pg_catalog.pg_type where oid >= 16384 and (typtype = 'b' and typelem = 0 or typtype = 'p')
    union all select 'conversion', conname, 'pg_catalog.pg_conversion', oid from pg_catalog.pg_conversion where oid >= 16384
    union all select 'access method', amname, 'pg_catalog.pg_am', oid from pg_catalog.pg_am where oid >= 16384
    union all select 'transform for language', l.lanname || ' of ' || t.trftype::regtype, 'pg_catalog.pg_transform', t.oid
        from pg_catalog.pg_transform t join pg_catalog.pg_language l on l.oid = t.trflang
    union all select 'text search parser', prsname, 'pg_catalog.pg_ts_parser', oid from pg_catalog.pg_ts_parser where oid >= 16384
    union all select 'text search template', tmplname, 'pg_catalog.pg_ts_template', oid from pg_catalog.pg_ts_template where oid >= 16384
    union all select 'text search configuration', cfgname, 'pg_catalog.pg_ts_config', oid from pg_catalog.pg_ts_config where oid >= 16384
    union all select 'foreign-data wrapper', fdwname, 'pg_catalog.pg_foreign_data_wrapper', oid from pg_catalog.pg_foreign_data_wrapper
    union all select 'foreign server', srvname, 'pg_catalog.pg_foreign_server', oid from pg_catalog.pg_foreign_server
    union all select 'language', lanname, 'pg_catalog.pg_language', oid from pg_catalog.pg_language where oid >= 16384
    union all select 'event trigger', quote_ident(evtname), 'pg_catalog.pg_event_trigger', oid from pg_catalog.pg_event_trigger where evtname not like E'gorda\\_%') as others
where not exists (select from pg_catalog.pg_depend d where d.classid = class and d.objid = others.oid
    and (deptype = 'e' or deptype = 'i' and d.classid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_cast'::regclass)))
