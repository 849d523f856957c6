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
