-- Why no replica can use the database at all: true, what it is, what about it, what to do.
select true, 'server', 'PostgreSQL ' || current_setting('server_version') || ' cannot be replicated', 'use 14 or later'
where current_setting('server_version_num')::int < 140000
union all
select true, 'database ' || quote_ident(datname), 'its encoding is ' || pg_encoding_to_char(encoding) || ', but texts are replicated as UTF8',
    'load a dump of it into a database that was created with ENCODING ''UTF8'''
from pg_catalog.pg_database where datname = current_database() and pg_encoding_to_char(encoding) <> 'UTF8'
union all
select true, 'role ' || quote_ident(rolname), 'it is no superuser, which event triggers and session_replication_role need',
    'log in as one, for a replica by its setting user'
from pg_catalog.pg_roles where rolname = current_user and not rolsuper
union all
select true, 'function ' || h.oid::regprocedure, 'no trigger sees what it changes, because it sets session_replication_role or event_triggers', 'drop it, or have it leave those settings'
from (${hiding}) h
union all
select true, what || ' ' || quote_ident(name) || coalesce(' of ' || relid::regclass, ''),
    'it is enabled as ' || case enabled when 'A' then 'ALWAYS' else 'REPLICA' end || ', so that replicas execute it again for what it has changed already',
    case when relid is null then format('ALTER EVENT TRIGGER %I ENABLE', name) else format('ALTER TABLE %s ENABLE %s %I', relid::regclass, upper(what), name) end
from (select 'trigger', tgname, tgrelid, tgenabled from pg_catalog.pg_trigger where tgname not like E'gorda\\_%'
    union all select 'rule', rulename, ev_class, ev_enabled from pg_catalog.pg_rewrite
    union all select 'event trigger', evtname, null, evtenabled from pg_catalog.pg_event_trigger where evtname not like E'gorda\\_%') e (what, name, relid, enabled)
where enabled in ('A', 'R')
