-- What a replica keeps in its database, in one transaction at each opening, and what it does to tables follows. The digest is of the token that only its own sessions have.
drop event trigger if exists gorda_schema;
drop event trigger if exists gorda_drops;
drop event trigger if exists gorda_rewrites;
create schema if not exists gorda;
grant usage on schema gorda to public;

-- Who commits inserts a row, in the same transaction; the last one counts. After the next opening nobody of before can do so any more.
create table if not exists gorda.position (
    turn bigint not null primary key, idx bigint not null, term bigint not null, high bigint not null, low bigint not null,
    token text not null);
alter table gorda.position drop constraint if exists opened;
alter table gorda.position add constraint opened
    check (encode(sha256(convert_to(token, 'UTF8')), 'hex') = '${digest}') not valid;
grant insert on gorda.position to public;

-- Changed to have something to force to disk.
create table if not exists gorda.flush (flushes bigint not null);
insert into gorda.flush select 0 where not exists (select from gorda.flush);

-- Texts do not depend on the settings of the client whose rows they are.
create or replace function gorda.capture() returns trigger language plpgsql
    set search_path = pg_catalog set datestyle = 'ISO, YMD' set intervalstyle = 'postgres' set timezone = 'UTC'
    set bytea_output = 'hex' set extra_float_digits = 1 set lc_monetary = 'C' as $$
begin
    if encode(sha256(convert_to(coalesce(current_setting('gorda.token', true), ''), 'UTF8')), 'hex') <> '${digest}' then
        raise exception using errcode = 'GW002', message = format(
            'the database is replicated: %I.%I can only be changed by connections of its replica', tg_table_schema, tg_table_name);
    end if;
    if tg_op = 'INSERT' then
        raise info using errcode = 'GW001', message = tg_argv[0] || 'I' || new::text;
    elsif tg_op = 'UPDATE' then
        raise info using errcode = 'GW001', message = tg_argv[0] || 'U' || old::text || new::text;
    else
        raise info using errcode = 'GW001', message = tg_argv[0] || 'D' || old::text;
    end if;
    return null;
end $$;

-- Whether the session's statement is known to its replica.
create or replace function gorda.is_known() returns boolean language sql stable set search_path = pg_catalog as $$
    select encode(sha256(convert_to(coalesce(current_setting('gorda.token', true), ''), 'UTF8')), 'hex') = '${digest}' $$;

create or replace function gorda.refuse() returns trigger language plpgsql as $$
begin
    raise exception using errcode = '0A000', message = format(
        '%s of %I.%I cannot be replicated: %s', tg_op, tg_table_schema, tg_table_name, tg_argv[0]);
end $$;

-- TRUNCATE is replicated as the statement that it is; from within a function nobody would see it.
create or replace function gorda.truncates() returns trigger language plpgsql as $$
begin
    if not gorda.is_known() then
        raise exception using errcode = '0A000', message = format(
            'TRUNCATE of %I.%I within another statement cannot be replicated: use DELETE there', tg_table_schema, tg_table_name);
    end if;
    return null;
end $$;

-- The tables whose rows are captured. A description has a row for each thing, with its kind first: (t, schema, name);
-- columns (c, name, type, whether it is computed); the primary key (p) and unique indexes (u, name, whether nulls are equal)
-- with (k, column) for each of theirs; foreign keys (f, schema, table) with (r, column, name there) for each of theirs.
drop view if exists gorda.described;
create view gorda.described as
select c.oid as relid, n.nspname, c.relname,
    row('t', n.nspname, c.relname)::text
    || (select coalesce(string_agg(row('c', a.attname,
            case when t.typtype <> 'b' or t.typnamespace <> 'pg_catalog'::regnamespace then '' else t.typname end
            || case when coalesce(l.collisdeterministic, true) then '' else '?' end, a.attgenerated <> '')::text, '' order by a.attnum), '')
        from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
            left join pg_catalog.pg_collation l on l.oid = a.attcollation
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
    || (select coalesce(string_agg(row(case when i.indisprimary then 'p' else 'u' end, x.relname,
            coalesce(to_jsonb(i) ->> 'indnullsnotdistinct', 'false'))::text
            || case when i.indpred is not null or i.indexprs is not null or i.indisprimary and not i.indimmediate then '' else
                (select string_agg(row('k', a.attname)::text, '' order by k.place)
                from unnest(i.indkey::int2[]) with ordinality k (attnum, place)
                    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                where k.place <= i.indnkeyatts) end, '' order by not i.indisprimary, x.relname), '')
        from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
        where i.indrelid = c.oid and i.indisunique)
    || (select coalesce(string_agg(row('f', fn.nspname, f.relname)::text
            || (select string_agg(row('r', a.attname, b.attname)::text, '' order by p.place)
                from unnest(k.conkey, k.confkey) r (child, parent)
                    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = r.child
                    join pg_catalog.pg_attribute b on b.attrelid = k.confrelid and b.attnum = r.parent
                    join unnest((select i.indkey::int2[] from pg_catalog.pg_index i where i.indexrelid = k.conindid))
                        with ordinality p (attnum, place) on p.attnum = r.parent), '' order by k.conname), '')
        from pg_catalog.pg_constraint k join pg_catalog.pg_class f on f.oid = k.confrelid
            join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
        where k.conrelid = c.oid and k.contype = 'f') as description
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and c.relpersistence = 'p'
    and n.nspname not in ('gorda', 'information_schema') and n.nspname not like 'pg\_%';

grant select on gorda.described to public;

-- Tells how far all generators have come, but for those that are of one session only.
create or replace procedure gorda.generated() language plpgsql security definer set search_path = pg_catalog as $$
declare
    all_of_them text;
begin
    select string_agg(row(c.oid, n.nspname, c.relname, s.last)::text, '') into all_of_them
    from (select seqrelid, case when pg_relation_filenode(seqrelid) is not null then pg_sequence_last_value(seqrelid) end as last
            from pg_sequence) s
        join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
    where s.last is not null and c.relpersistence = 'p';
    if all_of_them is not null then
        raise info using errcode = 'GW001', message = 'G' || all_of_them;
    end if;
exception
    when internal_error then -- one was dropped in this moment
        raise exception using errcode = '40001', message = 'a sequence was dropped: run the transaction again';
end $$;

-- Gives each table the triggers that it needs as it is now. The first argument of its capture is the digest of its description.
create or replace function gorda.adopt() returns void language plpgsql security definer
    set search_path = pg_catalog set session_replication_role = replica set client_min_messages = warning as $$
declare
    t record;
begin
    for t in select relid, md5(description) as digest, not exists (select from pg_index i where i.indrelid = relid and i.indisprimary and i.indimmediate) as keyless,
            (select x.relname from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = relid and i.indisprimary) as key,
            (select encode(g.tgargs, 'escape') from pg_trigger g where g.tgrelid = relid and g.tgname = 'gorda_capture') as args,
            exists (select from pg_trigger g where g.tgrelid = relid and g.tgname = 'gorda_keyless') as refused
        from gorda.described
    loop
        if t.args is distinct from t.digest || '\000' then
            if t.args is null then
                execute format('create trigger gorda_truncate before truncate on %s execute function gorda.truncates()', t.relid::regclass);
            else
                execute format('drop trigger gorda_capture on %s', t.relid::regclass);
            end if;
            execute format('create constraint trigger gorda_capture after insert or update or delete on %s '
                'deferrable initially deferred for each row execute function gorda.capture(%L)', t.relid::regclass, t.digest);
        end if;
        if t.keyless and not t.refused then
            execute format('create trigger gorda_keyless before update or delete on %s execute function gorda.refuse(%L)',
                t.relid::regclass, coalesce('the table''s primary key ' || t.key || ' is DEFERRABLE, so that rows may share it',
                    'the table has no primary key, by which replicas find a row; add one'));
        elsif t.refused and not t.keyless then
            execute format('drop trigger gorda_keyless on %s', t.relid::regclass);
        end if;
    end loop;
    for t in select c.oid as relid from pg_class c
        where (c.relkind = 'f' or c.relkind = 'r' and c.relpersistence = 'u')
            and not exists (select from pg_trigger g where g.tgrelid = c.oid and g.tgname = 'gorda_refuse')
    loop
        execute format('create trigger gorda_refuse before insert or update or delete on %s execute function gorda.refuse(%L)',
            t.relid::regclass, 'its rows are not kept by this database for good');
    end loop;
end $$;

-- A change of the schema from within a function is not seen by who would have to replicate it.
create or replace function gorda.changes_schema() returns event_trigger language plpgsql as $$
begin
    if not gorda.is_known() and exists (select from pg_event_trigger_ddl_commands() where schema_name is distinct from 'pg_temp') then
        raise exception using errcode = '0A000', message = tg_tag
            || ' within another statement cannot be replicated: execute it by itself';
    end if;
end $$;

create or replace function gorda.drops() returns event_trigger language plpgsql as $$
begin
    if not gorda.is_known() and exists (select from pg_event_trigger_dropped_objects() where not is_temporary) then
        raise exception using errcode = '0A000', message = tg_tag
            || ' within another statement cannot be replicated: execute it by itself';
    end if;
end $$;

-- What a change of the schema computes for rows that are there would be another value on each replica.
create or replace function gorda.rewrites() returns event_trigger language plpgsql as $$
begin
    if pg_event_trigger_table_rewrite_reason() & 2 <> 0
        and (select relpersistence from pg_catalog.pg_class where oid = pg_event_trigger_table_rewrite_oid()) <> 't' then
        raise exception using errcode = '0A000', message = format(
            'a new column of %s whose values are computed for each row cannot be replicated: add it without, and update the rows',
            pg_event_trigger_table_rewrite_oid()::regclass);
    end if;
end $$;

-- By which the indexes of a table are compared with its rows, where the server has it.
do $$ begin
    if exists (select from pg_available_extensions where name = 'amcheck' and installed_version is null) then
        create extension amcheck schema gorda;
    end if;
end $$;

create event trigger gorda_schema on ddl_command_end execute function gorda.changes_schema();
create event trigger gorda_drops on sql_drop execute function gorda.drops();
create event trigger gorda_rewrites on table_rewrite execute function gorda.rewrites();

