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

-- Changed to have something to force to disk where no position is deleted.
create table if not exists gorda.flush (flushes bigint not null);
alter table gorda.flush replica identity full; -- it is changed also where all tables are published
insert into gorda.flush select 0 where not exists (select from gorda.flush);

-- By which SERIALIZABLE transactions are asked whether they can be committed; always empty.
create table if not exists gorda.serial (nothing int not null);
grant insert on gorda.serial to public;
grant select on gorda.flush to public;

-- What changes a row is gathered in a setting, because what a subtransaction has told goes with it: the number of parts that were put aside, and what came behind them. Functions
-- that are called for rows, or that call them, have all names with their schemas: a search_path of their own would cost, or be that of others' triggers.
create unlogged table if not exists gorda.aside (session int not null, part int not null, changes text not null, primary key (session, part));
alter table gorda.aside alter column changes set storage external;

create or replace function gorda.refuse_token() returns text language plpgsql as $$
begin
    raise exception using errcode = 'GW002', message = 'another replica process has opened the database since: connect again';
end $$;

-- From here on the session's statements are known to its replica, until gorda.told. What is executed for each transaction is SQL that the server puts into
-- the statement that calls it: expressions of PL/pgSQL are made ready anew in each transaction.
create or replace function gorda.know(token text) returns text language sql as $$
    select case when pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 'hex') operator(pg_catalog.=) '${digest}'
        then pg_catalog.set_config('gorda.known', 't', true) else gorda.refuse_token() end
$$;

-- Whether the session's statement is known to its replica.
create or replace function gorda.is_known() returns boolean language plpgsql stable as $$
begin
    return coalesce(pg_catalog.current_setting('gorda.known', true), '') operator(pg_catalog.<>) '';
end $$;

-- Refuses to commit what was gathered if nobody hears of it, or of not all of it: RESET ALL forgets what came before, and makes what comes behind it another first one.
create or replace function gorda.refuse_untold() returns trigger language plpgsql as $$
begin
    if not gorda.is_known() then
        raise exception using errcode = 'GW002', message = pg_catalog.format(
            case when coalesce(pg_catalog.current_setting('gorda.session', true), '') operator(pg_catalog.=) ''
                then 'the database is replicated: %I.%I can only be changed by connections of its replica'
                else '%I.%I was changed where its replica does not see it: have what changes it called by a statement of its own, or, where a view, a policy or an operator calls it, by a function that is VOLATILE' end,
            tg_table_schema, tg_table_name);
    elsif coalesce(pg_catalog.current_setting('gorda.told', true), '') operator(pg_catalog.=) ''
            or pg_catalog.current_setting('gorda.looked', true) operator(pg_catalog.=) 't' then
        raise exception using errcode = '0A000', message =
            'RESET ALL behind changes of rows in one transaction cannot be replicated: have it outside of transactions';
    end if;
    perform pg_catalog.set_config('gorda.looked', 't', true);
    return null;
end $$;

-- Called for each row in the conditions of triggers, which the server evaluates as soon as the row is changed: so changes are told in the order in which they are made, also by
-- functions and triggers. The first one says yes, and so has the commit look whether its replica knows of it.
create or replace function gorda.tell(what text, before record, after record) returns boolean language plpgsql as $$
declare
    gathered text := pg_catalog.current_setting('gorda.told', true);
    is_first boolean := coalesce(gathered, '') operator(pg_catalog.=) '';
begin
    if pg_catalog.octet_length(pg_catalog.set_config('gorda.told', pg_catalog.concat(
            case when is_first then '0|' else gathered end, what, before::text, after::text), true)) operator(pg_catalog.>) 8000 then
        perform gorda.put_aside();
    end if;
    return is_first;
end $$;

-- The same with texts that do not depend on the settings of the client whose rows they are.
create or replace function gorda.tell_dependent(what text, before record, after record) returns boolean language plpgsql as $$
declare
    gathered text := pg_catalog.current_setting('gorda.told', true);
    is_first boolean := coalesce(gathered, '') operator(pg_catalog.=) '';
begin
    if pg_catalog.octet_length(pg_catalog.set_config('gorda.told', pg_catalog.concat(
            case when is_first then '0|' else gathered end, what, gorda.texts(before, after)), true)) operator(pg_catalog.>) 8000 then
        perform gorda.put_aside();
    end if;
    return is_first;
end $$;

create or replace function gorda.texts(before record, after record) returns text language plpgsql
    set search_path = pg_catalog, pg_temp set datestyle = 'ISO, YMD' set intervalstyle = 'postgres' set timezone = 'UTC'
    set bytea_output = 'hex' set extra_float_digits = 1 set lc_monetary = 'C' as $$
begin
    return concat(before::text, after::text);
end $$;

-- Statements that begin with the session's mark return their rows. Of a long text, which the server copies to tell of it, it is said before.
create or replace function gorda.is_not_returned() returns boolean language plpgsql stable as $$
begin
    return coalesce(pg_catalog.current_setting('gorda.long', true), '') operator(pg_catalog.<>) '' or pg_catalog.left(pg_catalog.current_query(), 40) is distinct from pg_catalog.current_setting('gorda.session', true);
end $$;

create or replace function gorda.put_aside() returns void language plpgsql security definer as $$
declare
    gathered text := pg_catalog.current_setting('gorda.told');
    part int := pg_catalog.split_part(gathered, '|', 1)::pg_catalog.int4;
begin
    insert into gorda.aside values (pg_catalog.pg_backend_pid(), part, gathered);
    perform pg_catalog.set_config('gorda.told', pg_catalog.concat(part operator(pg_catalog.+) 1, '|'), true);
end $$;

create or replace function gorda.tell_aside() returns text language plpgsql security definer as $$
declare
    put_aside text;
begin
    for put_aside in select t.changes from gorda.aside t
        where t.session operator(pg_catalog.=) pg_catalog.pg_backend_pid() order by t.part
    loop
        raise info using errcode = 'GW001', message = put_aside;
    end loop;
    delete from gorda.aside t where t.session operator(pg_catalog.=) pg_catalog.pg_backend_pid();
    return '';
end $$;

-- The last part, behind those put aside.
create or replace function gorda.told() returns text language plpgsql as $$
declare
    gathered text := pg_catalog.current_setting('gorda.told', true);
begin
    if pg_catalog.left(gathered, 2) operator(pg_catalog.<>) '0|' and gathered operator(pg_catalog.<>) '' then
        perform gorda.tell_aside();
    end if;
    perform pg_catalog.set_config('gorda.told', case when gathered operator(pg_catalog.<>) '' then '0|' else '' end, true),
        pg_catalog.set_config('gorda.known', '', true);
    return coalesce(nullif(gathered, ''), '0|');
end $$;

-- Has our triggers look that wait, also in schemas that the client may not use. In one where a trigger of somebody else has the name of ours, which would be called as the owner, ours go on waiting.
create or replace function gorda.look() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    names text := (select string_agg(t.name, ', ') from (select format('%I.%I', n.nspname, c.conname) as name
        from pg_constraint c join pg_namespace n on n.oid = c.connamespace left join pg_trigger g on g.tgconstraint = c.oid
        where c.conname = any ('{gorda_insert,gorda_update,gorda_delete}')
        group by n.nspname, c.conname having bool_and(g.tgfoid is not distinct from 'gorda.refuse_untold()'::regprocedure)) t);
begin
    if names is not null then
        execute format('set constraints %s immediate', names);
        execute format('set constraints %s deferred', names);
    end if;
end $$;

-- Within a transaction: tells of what has changed so far. The server changes no schema of a table of which a trigger waits. To look takes the triggers of all tables: none waits
-- while there is nothing to tell since the last time, unless that it was done is forgotten by a RESET, too.
create or replace function gorda.tell_so_far(token text) returns text language plpgsql as $$
declare
    gathered text;
begin
    perform gorda.know(token);
    perform gorda.look() where pg_catalog.concat(pg_catalog.current_setting('gorda.looked', true), pg_catalog.current_setting('gorda.told', true)) operator(pg_catalog.<>) 'n';
    gathered := gorda.told();
    perform pg_catalog.set_config('gorda.told', '', true), pg_catalog.set_config('gorda.looked', 'n', true); -- the next row is another first one
    return gathered;
end $$;

create or replace function gorda.refuse() returns trigger language plpgsql as $$
begin
    raise exception using errcode = '0A000', message = format(
        '%s of %I.%I cannot be replicated: %s', tg_op, tg_table_schema, tg_table_name, tg_argv[0]);
end $$;

-- TRUNCATE is replicated as the statement that it is; from within a function, or a trigger of another TRUNCATE, nobody would see it.
create or replace function gorda.truncates() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    context text;
begin
    get diagnostics context = pg_context;
    if not gorda.is_known() or context ~ E'\n' and current_query() !~* E'\\mextension\\M' then
        raise exception using errcode = '0A000', message = format(
            'TRUNCATE of %I.%I within another statement cannot be replicated: use DELETE there', tg_table_schema, tg_table_name);
    end if;
    perform set_config('gorda.truncated', concat(current_setting('gorda.truncated', true), tg_relid, ' '), true);
    perform set_config('gorda.changed', '|', true) where coalesce(current_setting('gorda.changed', true), '') = '';
    return null;
end $$;

-- Behind a TRUNCATE: others execute it before all that its triggers have changed, where rows are not there any more that those have changed before it.
create or replace function gorda.truncated() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    tables oid[] := string_to_array(rtrim(current_setting('gorda.truncated', true)), ' ')::oid[];
    changed regclass := (select g.tgrelid from pg_trigger g
        join (select t.changes from gorda.aside t where t.session = pg_backend_pid() union all select current_setting('gorda.told', true)) a (changes)
            on a.changes ~ (left(encode(g.tgargs, 'escape'), 32) || '[IUD]')
        where g.tgrelid = any (tables) and g.tgname = 'gorda_delete' limit 1);
begin
    perform set_config('gorda.truncated', '', true);
    if changed is not null and exists (select from pg_trigger t where t.tgtype & 34 = 34 and t.tgenabled <> 'D' and t.tgname not like E'gorda\\_%') then
        raise exception using errcode = '0A000', message = format(
            'a TRUNCATE whose trigger changes rows of %s, which it truncates, cannot be replicated: have the trigger leave them, or use DELETE', changed);
    end if;
end $$;

-- The tables whose rows are captured. A description has a row for each thing, with its kind first: (t, schema, name);
-- columns (c, name, type, whether it is computed, whether it cannot be set, as GENERATED ALWAYS AS IDENTITY); the primary key (p) and unique indexes (u, name, whether nulls are equal, whether it may be checked
-- late, whether others refer to it by values that cannot be compared with its own) with (k, column, whether equal values are the same) for each of theirs, and what excludes rows by other operators as a unique
-- index without columns; foreign keys (f, schema, table) with (r, column, name there, type there) for each of theirs, for each partition if they refer to a partitioned table.
drop view if exists gorda.provable;
drop view if exists gorda.described;
-- The name of a type of the server's own, for a domain that of which it is made; nothing for others. The server puts the SQL into the statement that calls it.
create or replace function gorda.base_of(which oid) returns text language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    t pg_type;
begin
    loop
        select * into t from pg_type where oid = which;
        exit when t.typtype <> 'd';
        which := t.typbasetype;
    end loop;
    return case when t.typtype = 'b' and t.typnamespace = 'pg_catalog'::regnamespace then t.typname::text else '' end;
end $$;
create or replace function gorda.type_of(t pg_catalog.pg_type) returns text language sql stable as $$
    select case when $1.typtype operator(pg_catalog.=) 'b' and $1.typnamespace operator(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace then $1.typname::pg_catalog.text
        when $1.typtype operator(pg_catalog.=) 'd' then gorda.base_of($1.oid) else '' end
$$;
create view gorda.described as
select c.oid as relid, n.nspname, c.relname,
    row('t', n.nspname, c.relname)::text
    || (select coalesce(string_agg(row('c', a.attname,
            gorda.type_of(t) || case when coalesce(l.collisdeterministic, true) then '' else '?' end, a.attgenerated <> '', a.attidentity = 'a')::text, '' order by a.attnum), '')
        from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
            left join pg_catalog.pg_collation l on l.oid = a.attcollation
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
    || (select coalesce(string_agg(row(case when i.indisprimary then 'p' else 'u' end, x.relname,
            coalesce(to_jsonb(i) ->> 'indnullsnotdistinct', 'false'), not i.indimmediate,
            exists (select from pg_catalog.pg_trigger g join pg_catalog.pg_constraint k on k.oid = g.tgconstraint cross join unnest(k.conkey, k.confkey) r (child, parent)
                    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = r.child join pg_catalog.pg_type t on t.oid = a.atttypid
                    join pg_catalog.pg_attribute b on b.attrelid = k.confrelid and b.attnum = r.parent join pg_catalog.pg_type y on y.oid = b.atttypid
                where g.tgrelid = c.oid and g.tgconstrindid = i.indexrelid
                    and (a.attgenerated <> '' or gorda.type_of(y) in ('inet', 'cidr', 'oid') and gorda.type_of(t) <> gorda.type_of(y))))::text
            || case when i.indpred is not null or i.indexprs is not null or i.indisprimary and not i.indimmediate then '' else
                (select string_agg(row('k', a.attname, coalesce(l.collisdeterministic, true))::text, '' order by k.place)
                from unnest(i.indkey::int2[], i.indcollation::oid[]) with ordinality k (attnum, indcollation, place)
                    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                    left join pg_catalog.pg_collation l on l.oid = k.indcollation
                where k.place <= i.indnkeyatts) end, '' order by not i.indisprimary, x.relname), '')
        from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
        where i.indrelid = c.oid and i.indisunique)
    || (select coalesce(string_agg(row('u', x.relname, 'false', not i.indimmediate, false)::text, '' order by x.relname), '')
        from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
        where i.indrelid = c.oid and i.indisexclusion)
    || (select coalesce(string_agg(row('f', fn.nspname, f.relname)::text
            || (select string_agg(row('r', a.attname, b.attname, gorda.type_of(t)
                    || case when coalesce(l.collisdeterministic, true) and b.attgenerated = '' then '' else '?' end)::text, '' order by p.place)
                from unnest(k.conkey, k.confkey) r (child, parent)
                    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = r.child
                    join pg_catalog.pg_attribute b on b.attrelid = k.confrelid and b.attnum = r.parent
                    join pg_catalog.pg_type t on t.oid = b.atttypid
                    join (select u.* from pg_catalog.pg_index i, unnest(i.indkey::int2[], i.indcollation::oid[]) with ordinality u (attnum, indcollation, place)
                        where i.indexrelid = k.conindid) p on p.attnum = r.parent
                    left join pg_catalog.pg_collation l on l.oid = p.indcollation), '' order by k.conname, fn.nspname, f.relname), '')
        from pg_catalog.pg_constraint k cross join lateral (
                with recursive part (relid) as (select k.confrelid union
                    select h.inhrelid from part join pg_catalog.pg_inherits h on h.inhparent = part.relid join pg_catalog.pg_class x on x.oid = h.inhrelid and x.relispartition)
                select relid from part) p join pg_catalog.pg_class f on f.oid = p.relid and f.relkind = 'r'
            join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
        where k.conrelid = c.oid and k.contype = 'f'
            and not exists (select from pg_catalog.pg_constraint o where o.oid = k.conparentid and o.conrelid = c.oid)) as description
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and c.relpersistence = 'p'
    and n.nspname not in ('gorda', 'information_schema') and n.nspname not like E'pg\\_%';

grant select on gorda.described to public;

-- That of one table; null if it has none. As written the joins are in a good order: to look for a better one takes longer than all else.
create or replace function gorda.description_of(schema text, name text) returns text language plpgsql stable
    set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set join_collapse_limit = 1 as $$
begin
    return (select d.description from gorda.described d where d.nspname = schema and d.relname = name);
end $$;

-- Generators by the names that they have on all replicas, also where the database is of another kind: the only one that a table owns by that of the table.
create or replace view gorda.named as
select c.oid as relid, t.oid is not null as of_table, coalesce(tn.nspname, n.nspname) as nspname, coalesce(t.relname, c.relname) as relname
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.objsubid = 0
        and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
        and not exists (select from pg_catalog.pg_depend o where o.refclassid = d.refclassid and o.refobjid = d.refobjid and o.refobjsubid > 0
            and o.classid = d.classid and o.objid <> c.oid and o.objsubid = 0 and o.deptype in ('a', 'i')
            and exists (select from pg_catalog.pg_sequence where seqrelid = o.objid))
    left join pg_catalog.pg_class t on t.oid = d.refobjid
    left join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
where c.relkind = 'S';

grant select on gorda.named to public;

-- A generator by such a name; null if there is none.
create or replace function gorda.generator_if_any(of_table boolean, nspname text, relname text) returns oid language plpgsql stable as $$
declare
    named oid := to_regclass(format('%I.%I', nspname, relname));
begin
    if not of_table then
        return (select seqrelid from pg_sequence where seqrelid = named);
    end if;
    return (select n.relid from pg_depend d join gorda.named n on n.relid = d.objid and n.of_table
        where d.refclassid = 'pg_class'::regclass and d.refobjid = named and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i'));
end $$;

create or replace function gorda.generator_of(of_table boolean, nspname text, relname text) returns oid language plpgsql stable as $$
declare
    found oid := gorda.generator_if_any(of_table, nspname, relname);
begin
    if found is null then
        raise exception using errcode = '42P01', message = format('there is no sequence %s%I.%I here, of which values were taken',
            case when of_table then 'of table ' end, nspname, relname);
    end if;
    return found;
end $$;

-- How far generators have come, but for those that are of one session only, or whose values are leased: those that the transaction has taken values from, which it has locked, and behind an O others
-- by their numbers, or all for 0, if there are not too many. Of what somebody else has locked, most likely to drop it, there is no value: it is to be asked for again.
drop function if exists gorda.generated();
drop function if exists gorda.generated(boolean);
create or replace function gorda.generated(others oid[]) returns text language plpgsql security definer
    set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set lock_timeout = '10ms' as $$
declare
    own oid[] := array(select seqrelid from pg_locks join pg_sequence on seqrelid = relation
        where pid = pg_backend_pid() and locktype = 'relation' and mode = 'RowExclusiveLock');
    asked oid[] := '{}';
    free oid[] := '{}';
    told text;
begin
    if others <> '{}' and (select count(*) from pg_sequence) <= 1000 then -- each stays locked to the commit
        asked := array(select seqrelid from pg_sequence where ('0' = any (others) or seqrelid = any (others)) and seqrelid <> all (own));
        free := array(select unnest(asked) except select relation from pg_locks
            where locktype = 'relation' and database = (select oid from pg_database where datname = current_database()) and pid is distinct from pg_backend_pid()
                and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'));
    end if;
    if own = '{}' and asked = '{}' then
        return null;
    end if;
    loop
        begin
            told := (select concat('G', string_agg(g.told, '') filter (where g.relid = any (own)), 'O', string_agg(g.told, '') filter (where g.relid <> all (own)))
                from (select n.relid, row(n.relid, n.of_table, n.nspname, n.relname, g.last)::text as told
                    from (select c.oid as relid, pg_sequence_last_value(c.oid) as last from pg_class c
                        where c.oid = any (own || free) and c.relpersistence = 'p' and pg_relation_filenode(c.oid) is not null
                            and not exists (select from gorda.generator b where b.relid = c.oid) offset 0) g
                        join gorda.named n on n.relid = g.relid
                    where g.last is not null) g);
            exit;
        exception
            when lock_not_available or internal_error then -- one was locked or dropped in this moment
                if free = '{}' then
                    raise;
                end if;
                free := '{}';
        end;
    end loop;
    return concat(told, (select string_agg(format('(%s,,,,)', a.oid), '') from unnest(asked) a (oid) where a.oid <> all (free)));
end $$;

-- Nobody hears of values that others have taken: they are to be asked for again.
drop function if exists gorda.told_read_only();
create or replace function gorda.told_read_only(others oid[]) returns text language plpgsql as $$
begin
    if pg_catalog.current_setting('gorda.told', true) operator(pg_catalog.<>) '' then
        raise exception using errcode = '25006', message = 'the transaction has changed rows and is read-only now';
    end if;
    return pg_catalog.concat(gorda.told(), case when others operator(pg_catalog.<>) '{}'
        then pg_catalog.concat('O(', pg_catalog.array_to_string(others, ',,,,)('), ',,,,)') end);
end $$;

-- The tables of which a SERIALIZABLE transaction has read something, by the locks that the server keeps of that, also of what was taken back, and of the session's transactions
-- before, which do not count; behind an H if a cursor stays open, which may go on to read.
create or replace function gorda.has_read() returns text language sql set search_path = pg_catalog, pg_temp as $$
    with locks as (select * from pg_locks where pid = pg_backend_pid())
    select concat(
        case when exists (select from pg_cursors where is_holdable and creation_time >= transaction_timestamp()) then 'H' end,
        (select string_agg(distinct row(n.nspname, t.relname)::text, '')
        from locks o join locks l on l.mode = 'SIReadLock' and l.virtualtransaction = o.virtualtransaction
            left join pg_index i on i.indexrelid = l.relation
            join pg_class t on t.oid = coalesce(i.indrelid, l.relation) join pg_namespace n on n.oid = t.relnamespace
        where o.locktype = 'virtualxid' and o.mode = 'ExclusiveLock' and n.nspname <> 'gorda'))
$$;

-- Which cursor WITH HOLD of the transaction, of which the server executes the rest in COMMIT, when all is told, may change rows: by functions of the database's own, also within views,
-- policies, operators, casts and domains. Nothing if there is none.
create or replace function gorda.held() returns text language sql stable set search_path = pg_catalog, pg_temp as $$
    with own as (select p.oid, p.proname from pg_proc p join pg_language l on l.oid = p.prolang
        where p.oid >= 16384 and (l.lanname not in ('internal', 'c') or p.prokind = 'a') and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
            and p.pronamespace <> 'gorda'::regnamespace),
    relation as (select relation as oid from pg_locks where pid = pg_backend_pid() and locktype = 'relation')
    select format('cursor %I WITH HOLD, which may call %s%s', c.name, o.oid::regprocedure, case when k.is_called and not k.is_named then ' by an operator or a cast' end)
    from pg_cursors c cross join own o cross join lateral (select
        case when o.proname ~ '^[A-Za-z0-9_]{1,62}$' then lower(o.proname) = any (regexp_split_to_array(lower(c.statement), '[^a-z0-9_]+'))
            else position(lower(o.proname) in lower(c.statement)) > 0 end as is_named,
        o.oid in (select oprcode from pg_operator where oid >= 16384 union all select castfunc from pg_cast where oid >= 16384) as is_called) k
    where c.is_holdable and c.creation_time >= transaction_timestamp()
        and (k.is_named or k.is_called or c.statement ~* 'u&"'
            or o.oid in (select d.refobjid from pg_depend d left join pg_constraint k on d.classid = 'pg_constraint'::regclass and k.oid = d.objid
                    left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid left join pg_policy y on d.classid = 'pg_policy'::regclass and y.oid = d.objid
                where d.refclassid = 'pg_proc'::regclass and (k.contypid <> 0 or coalesce(r.ev_class, y.polrelid) in (select oid from relation))))
    order by k.is_named desc limit 1
$$;

create or replace function gorda.refuse_unseen() returns text language plpgsql as $$
begin
    raise exception using errcode = '0A000', message = 'changes that no trigger sees cannot be replicated, as with session_replication_role=replica or event_triggers=off: leave those settings';
end $$;

create or replace function gorda.refuse_large_objects() returns text language plpgsql as $$
begin
    raise exception using errcode = '0A000', message = 'a large object, which the transaction has made or changed, cannot be replicated: use a column of type bytea';
end $$;

-- The last part before a commit, behind an S and what it has read if the transaction is SERIALIZABLE, with what generators have given, to others too if asked for. From here on the client's limits do not count: what is ordered must be
-- committed. A transaction that has become READ ONLY could not store its position.
drop function if exists gorda.told_at_last(boolean);
drop function if exists gorda.told_at_last(boolean, boolean);
drop function if exists gorda.told_at_last(boolean, boolean, boolean);
create or replace function gorda.told_at_last(has_generators boolean, others oid[], has_large_objects boolean) returns text language sql as $$
    select pg_catalog.concat(
        pg_catalog.left(pg_catalog.concat(
            case when pg_catalog.current_setting('session_replication_role') operator(pg_catalog.=) 'replica'
                or pg_catalog.current_setting('event_triggers', true) operator(pg_catalog.=) 'off' then gorda.refuse_unseen() end,
            case when $3 then gorda.refuse_large_objects() end,
            case when pg_catalog.current_setting('statement_timeout') operator(pg_catalog.<>) '0'
                then pg_catalog.set_config('statement_timeout', '0', true) end,
            case when pg_catalog.current_setting('lock_timeout') operator(pg_catalog.<>) '0'
                then pg_catalog.set_config('lock_timeout', '0', true) end,
            case when pg_catalog.current_setting('idle_in_transaction_session_timeout') operator(pg_catalog.<>) '0'
                then pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true) end,
            case when pg_catalog.current_setting('transaction_timeout', true) operator(pg_catalog.<>) '0' -- which 14 to 16 do not have
                then pg_catalog.set_config('transaction_timeout', '0', true) end), 0),
        case when pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on' then gorda.told_read_only($2)
            else pg_catalog.concat(
                case when pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'serializable'
                    then pg_catalog.concat('S', gorda.has_read()) end,
                case coalesce(pg_catalog.left(pg_catalog.current_setting('gorda.told', true), 2), '')
                    when '' then '0|'
                    when '0|' then pg_catalog.current_setting('gorda.told')
                    else pg_catalog.concat(gorda.tell_aside(), pg_catalog.current_setting('gorda.told')) end,
                pg_catalog.left(pg_catalog.concat(pg_catalog.set_config('gorda.told', '', true), pg_catalog.set_config('gorda.known', '', true)), 0),
                case when $1 then gorda.generated($2) end) end)
$$;

-- Tables of which a statement that names one, and calls no function, changes exactly the rows that it can return, as it returns them: no rules, policies, heirs, triggers
-- of others, cascades, or functions in what is computed or checked for a row, and nothing deferred. With "by_settings" texts are the same as ours only under settings that
-- gorda.footing looks for. An INSERT must give the columns in "asked", whose defaults are computed.
-- With "is_only" its name alone can mean nothing else but a temporary relation. The digest of its description is null while its triggers do not leave to statements what they return.
create view gorda.provable as
select d.relid, d.nspname, d.relname, (select left(encode(g.tgargs, 'escape'), 32) from pg_catalog.pg_trigger g
        where g.tgrelid = d.relid and g.tgname = 'gorda_delete' and encode(g.tgargs, 'escape') like E'%gorda.is\\_not\\_returned()%') as digest,
    exists (select from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid where a.attrelid = d.relid and a.attnum > 0
        and t.typname in ('timestamp', 'date', 'time', 'bytea', 'float4', 'float8')) as by_settings,
    (select coalesce(string_agg(row(a.attname)::text, ''), '') from pg_catalog.pg_attribute a
        left join pg_catalog.pg_attrdef f on f.adrelid = a.attrelid and f.adnum = a.attnum
        where a.attrelid = d.relid and a.attnum > 0 and (a.attidentity <> '' or f.adbin::text not like '{CONST %')) as asked,
    not exists (select from pg_catalog.pg_class o join pg_catalog.pg_namespace n on n.oid = o.relnamespace
        where o.relname = d.relname and o.oid <> d.relid and n.nspname not like E'pg\\_temp%' and n.nspname not like E'pg\\_toast%') as is_only
from gorda.described d join pg_catalog.pg_class c on c.oid = d.relid
where not (c.relhasrules or c.relrowsecurity or c.relhassubclass or c.relispartition)
    and c.oid not in (select inhrelid from pg_catalog.pg_inherits union all select inhparent from pg_catalog.pg_inherits)
    and not exists (select from pg_catalog.pg_trigger g
        where g.tgrelid = c.oid and not g.tgisinternal and g.tgname not like E'gorda\\_%')
    and not exists (select from pg_catalog.pg_constraint k where k.conrelid = c.oid
        and (k.condeferrable and k.contype <> 't' or k.contype = 'x' or k.contype = 'c' and k.conbin::text ~ 'FUNCEXPR|DOMAIN'))
    and not exists (select from pg_catalog.pg_trigger g join pg_catalog.pg_constraint k on k.oid = g.tgconstraint where g.tgrelid = c.oid and k.confrelid = c.oid and k.contype = 'f'
        and (k.condeferrable or k.confupdtype not in ('a', 'r') or k.confdeltype not in ('a', 'r')))
    and not exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and (i.indexprs is not null or i.indpred is not null
        or i.indisexclusion or exists (select from unnest(i.indclass::oid[]) o (oid) where o.oid >= 16384)))
    and exists (select from pg_catalog.pg_index i where i.indrelid = c.oid and i.indisprimary and i.indimmediate)
    and not exists (select from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and (a.attgenerated <> '' or not (t.typtype = 'e'
            or t.typnamespace = 'pg_catalog'::regnamespace and t.typname in ('bool', 'int2', 'int4', 'int8', 'numeric', 'text', 'varchar',
                'bpchar', 'uuid', 'json', 'jsonb', 'timestamp', 'date', 'time', 'bytea', 'float4', 'float8'))));

-- Whether operators and casts, which look like the server's own, call functions that could do anything.
create or replace function gorda.has_operators() returns boolean language sql set search_path = pg_catalog, pg_temp as $$
    select exists (select from pg_proc p join pg_language l on l.oid = p.prolang where l.lanname not in ('internal', 'c')
        and (p.oid in (select oprcode from pg_operator where oid >= 16384) or p.oid in (select castfunc from pg_cast where oid >= 16384)))
$$;

-- Whether what only reads may call functions, by views, policies, operators and casts, that change something: others than VOLATILE ones cannot, by themselves.
create or replace function gorda.reads_may_change() returns boolean language sql set search_path = pg_catalog, pg_temp as $$
    with changing as (select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
        where p.oid >= 16384 and p.provolatile = 'v' and l.lanname not in ('internal', 'c') and p.pronamespace <> 'gorda'::regnamespace)
    select exists (select from pg_depend d left join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid and w.ev_type = '1'
                left join pg_class c on c.oid = w.ev_class and c.relkind = 'v'
            where d.refclassid = 'pg_proc'::regclass and d.refobjid in (select oid from changing) and (c.oid is not null or d.classid = 'pg_policy'::regclass))
        or exists (select from pg_operator where oprcode in (select oid from changing)) or exists (select from pg_cast where castfunc in (select oid from changing))
$$;

-- What must be so in a session that rows are taken from what its statements return: null if it is not, otherwise whether texts are as those of our own sessions, and which
-- tables it cannot read. With a limit of time a commit could fail after it was ordered.
create or replace function gorda.footing() returns text language sql as $$
    select case when pg_catalog.current_setting('statement_timeout') operator(pg_catalog.=) '0'
            and pg_catalog.current_setting('lock_timeout') operator(pg_catalog.=) '0'
            and pg_catalog.current_setting('idle_in_transaction_session_timeout') operator(pg_catalog.=) '0'
            and coalesce(pg_catalog.current_setting('transaction_timeout', true), '0') operator(pg_catalog.=) '0'
            and pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'read committed'
            and pg_catalog.current_setting('default_transaction_isolation') operator(pg_catalog.=) 'read committed'
            and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'off'
            and pg_catalog.current_setting('default_transaction_read_only') operator(pg_catalog.=) 'off'
            and not exists (select from pg_catalog.pg_class c where c.relnamespace operator(pg_catalog.=) pg_catalog.pg_my_temp_schema())
        then pg_catalog.concat(
            case when pg_catalog.left(pg_catalog.current_setting('datestyle'), 3) operator(pg_catalog.=) 'ISO'
                and pg_catalog.current_setting('bytea_output') operator(pg_catalog.=) 'hex'
                and pg_catalog.current_setting('extra_float_digits')::pg_catalog.int4 operator(pg_catalog.>) 0 then 'o' else 't' end,
            (select pg_catalog.string_agg(pg_catalog.concat(',', c.oid), '') from pg_catalog.pg_class c
                where c.relkind operator(pg_catalog.=) 'r' and c.oid operator(pg_catalog.>=) 16384::pg_catalog.oid
                    and not pg_catalog.has_table_privilege(c.oid, 'SELECT'))) end
$$;
grant select on gorda.provable to public;

-- Has a commit fail of which its replica does not know, although no trigger has anything to tell.
create or replace function gorda.guard() returns boolean language plpgsql as $$
begin
    raise exception using errcode = 'GW002', message = 'the transaction cannot be committed in this way: its replica does not see it';
end $$;

-- Columns whose values are written by the names of tables or functions, or by the columns of a table: of types that refer to such, or row types of tables, also within composite types and domains.
create or replace view gorda.by_names as
with named as (select unnest(array[t.oid, t.typarray]) as oid from pg_catalog.pg_type t left join pg_catalog.pg_class c on c.oid = t.typrelid
    where c.relkind <> 'c' or t.oid in ('regclass'::regtype, 'regtype'::regtype, 'regproc'::regtype, 'regprocedure'::regtype, 'regoper'::regtype, 'regoperator'::regtype))
select from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
where a.atttypid in (select oid from named) and a.attnum > 0 and c.oid >= 16384 and c.relkind in ('r', 'p', 'c') and c.relnamespace <> 'gorda'::regnamespace
union all
select from pg_catalog.pg_type d where d.typtype = 'd' and d.oid >= 16384 and d.typbasetype in (select oid from named);

create or replace view gorda.hashed_by_number as
${hashed};

create or replace view gorda.ambiguous as
${ambiguous};

create or replace view gorda.hiding as
${hiding};
grant select on gorda.hiding to public;

-- Tables that functions have a say in where rows are applied: by a check, an index, or a column computed from others; those of a domain have no number.
create or replace view gorda.by_routines as
select coalesce(k.conrelid, i.indrelid, a.adrelid, d.objid) as relid from pg_catalog.pg_depend d
    left join pg_catalog.pg_constraint k on d.classid = 'pg_catalog.pg_constraint'::regclass and k.oid = d.objid
    left join pg_catalog.pg_index i on d.classid = 'pg_catalog.pg_class'::regclass and i.indexrelid = d.objid
    left join pg_catalog.pg_attrdef a on d.classid = 'pg_catalog.pg_attrdef'::regclass and a.oid = d.objid
    left join pg_catalog.pg_attribute c on c.attrelid = a.adrelid and c.attnum = a.adnum
where d.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass) and d.refobjid >= 16384
    and d.classid in ('pg_catalog.pg_constraint'::regclass, 'pg_catalog.pg_class'::regclass, 'pg_catalog.pg_attrdef'::regclass)
    and c.attgenerated is distinct from '';
grant select on gorda.by_names, gorda.by_routines, gorda.hashed_by_number, gorda.ambiguous to public;

-- Before a change of the schema for which the server locks no tables: waits for who has changed their rows, because those are written down as they were before. All tables, or those with
-- types of the database's own, or of which functions have a say; if a materialized view is filled, those that it reads, or all if functions read for it, or it is not there yet.
create or replace function gorda.keep_writers_away(token text, all_tables boolean, filled text, view regclass) returns void language plpgsql security definer
    set search_path = pg_catalog, pg_temp as $$
declare
    is_unlimited boolean := current_setting('lock_timeout') = '0';
    sources oid[] := (with recursive source (relid) as (select view::oid union
        select d.refobjid from source s join pg_rewrite r on r.ev_class = s.relid
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass) select array_agg(relid) from source);
    calls boolean := filled <> '' and (view is null or exists (select from pg_rewrite r
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        where r.ev_class = any (sources) and (d.refclassid = 'pg_proc'::regclass or d.refclassid = 'pg_operator'::regclass)));
    tables oid[] := array(select d.relid from gorda.described d
        where all_tables or calls or filled <> '' and (d.relid = any (sources) or exists (select from pg_partition_ancestors(d.relid) where relid = any (sources)))
            or filled = '' and (d.relid in (select relid from gorda.by_routines) or exists (select from pg_attribute a join pg_type t on t.oid = a.atttypid
            where a.attrelid = d.relid and a.attnum > 0 and (t.typnamespace <> 'pg_catalog'::regnamespace or t.typname like 'reg%' or t.typname like E'\\_reg%'))));
    which oid;
begin
    perform gorda.know(token);
    perform set_config('lock_timeout', '10s', true) where is_unlimited; -- others wait behind it
    foreach which in array tables loop
        while pg_relation_filenode(which) is not null loop
            begin
                execute format('lock table %s in share mode', which::regclass);
                exit;
            exception
                when undefined_table or invalid_schema_name then null; -- who has dropped it, or renamed it, has committed
            end;
        end loop;
    end loop;
    perform set_config('lock_timeout', '0', true) where is_unlimited;
end $$;

-- Gives tables the triggers that they need as they are now: those that statements since the last time may have changed, as gorda.note has it, or all. Returns what is new to tell of. The triggers'
-- argument has the digest of the table's description, and how it is told of: with texts that depend on settings, and only if its statement does not return its rows.
drop function if exists gorda.adopt();
create function gorda.adopt() returns table (digest text, description text) language plpgsql security definer
    set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set join_collapse_limit = 1 set client_min_messages = warning as $$
declare
    role text := current_setting('session_replication_role');
    has_others boolean := role <> 'replica' and exists (select from pg_event_trigger where evtname not like E'gorda\\_%');
    noted text := current_setting('gorda.changed', true);
    size bigint := pg_relation_size('pg_class');
    planned bigint := nullif(current_setting('gorda.planned', true), '');
    changed oid[];
    t record;
    op text;
begin
    if noted = '|' or role = 'replica' and coalesce(noted, '') = '' then -- no table, as by TRUNCATE and what concerns schemas or types alone
        perform set_config('gorda.changed', '', true);
        return;
    end if;
    perform set_config('gorda.changed', '*', true);
    perform set_config('session_replication_role', 'replica', true) where has_others; -- which has all plans made anew, as is done once the catalogue has doubled: those that were made for less go through all of it
    perform set_config('session_replication_role', 'local', true), set_config('session_replication_role', role, true) where size > 2 * planned and not has_others;
    perform set_config('gorda.planned', size::text, false) where planned is null or size > 2 * planned;
    if noted like '|%' then
        changed := (select coalesce(array_agg(coalesce(i.indrelid, n.relid)), '{}')
            from unnest(string_to_array(trim(noted, '|'), '|')::oid[]) n (relid) left join pg_index i on i.indexrelid = n.relid);
        changed := array(with recursive family (relid) as (select unnest(changed) union
            select r.relid from family f cross join lateral (select inhrelid from pg_inherits where inhparent = f.relid
                union all select inhparent from pg_inherits where inhrelid = f.relid) r (relid)) select relid from family);
        changed := changed || array(select unnest(array[k.conrelid, k.confrelid]) from unnest(changed) n (relid) -- descriptions name what foreign keys refer to
            cross join lateral (select d.classid, d.objid from pg_depend d where d.refclassid = 'pg_class'::regclass and d.refobjid = n.relid offset 0) d
            cross join lateral (select k.* from pg_constraint k where k.oid = d.objid offset 0) k where d.classid = 'pg_constraint'::regclass and k.contype = 'f');
    end if;
    changed := coalesce(changed, array(select oid from pg_class where relkind in ('r', 'f')));
    for t in select d.relid, d.description, md5(d.description) as digest, not exists (select from pg_index i where i.indrelid = d.relid and i.indisprimary and i.indimmediate) as keyless,
            (select x.relname from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = d.relid and i.indisprimary) as key,
            case when ${returning} and exists (select from gorda.provable p where p.relid = d.relid offset 0) then 'gorda.is_not_returned() and ' else '' end
            || case when exists (select from pg_attribute a left join pg_type y on y.oid = a.atttypid where a.attrelid = d.relid and a.attnum > 0
                and not (a.attisdropped or y.typtype = 'e' or y.typnamespace = 'pg_catalog'::regnamespace and y.typname in ('bool',
                'int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'bpchar', 'uuid', 'json', 'jsonb'))) then 'gorda.tell_dependent' else 'gorda.tell' end as tells,
            (select encode(g.tgargs, 'escape') from pg_trigger g where g.tgrelid = d.relid and g.tgname = 'gorda_delete') as captured,
            exists (select from pg_trigger g where g.tgrelid = d.relid and g.tgname = 'gorda_keyless') as refused
        from (select * from gorda.described where relid = any (changed) offset 0) d
    loop
        if t.captured is distinct from t.digest || ' ' || t.tells || E'\\000' then
            if t.captured is null then
                execute format('create trigger gorda_truncate before truncate on %s execute function gorda.truncates()', t.relid::regclass);
            end if;
            foreach op in array array['insert', 'update', 'delete'] loop
                if t.captured is not null then
                    execute format('drop trigger gorda_%s on %s', op, t.relid::regclass);
                end if;
                execute format('create constraint trigger gorda_%s after %1$s on %s deferrable initially deferred for each row '
                    'when (%s(%L, %s, %s)) execute function gorda.refuse_untold(%L)', op, t.relid::regclass, t.tells, t.digest || upper(left(op, 1)),
                    case op when 'insert' then 'null::record' else 'old.*' end, case op when 'delete' then 'null::record' else 'new.*' end, t.digest || ' ' || t.tells);
            end loop;
            digest := t.digest;
            description := t.description;
            return next;
        end if;
        if t.keyless and not t.refused then
            execute format('create trigger gorda_keyless before update or delete on %s execute function gorda.refuse(%L)',
                t.relid::regclass, coalesce('the table''s primary key ' || t.key || ' is DEFERRABLE, so that rows may share it',
                    'the table has no primary key, by which replicas find a row; add one'));
        elsif t.refused and not t.keyless then
            execute format('drop trigger gorda_keyless on %s', t.relid::regclass);
        end if;
    end loop;
    for t in select g.tgrelid as relid from pg_trigger g where g.tgrelid = any (changed) and g.tgname = 'gorda_refuse' and encode(g.tgargs, 'escape') like 'a server cannot read%'
        and not exists (select from gorda.ambiguous a where a.relid = g.tgrelid)
    loop
        execute format('drop trigger gorda_refuse on %s', t.relid::regclass);
    end loop;
    for t in select c.oid as relid, case when c.relkind = 'f' or c.relpersistence = 'u' then 'its rows are not kept by this database for good'
            when h.relid is null then format('a server cannot read the name in column %I if several are called so; make it a %s', a.attname,
                replace(replace(a.type, 'regproc', 'regprocedure'), 'regoper', 'regoperator')) else
                format('PARTITION BY HASH of %s puts rows into other partitions on each server; make it anew, partitioned BY LIST or RANGE, or by another column', h.type) end as reason
        from pg_class c left join (
            select p.relid, min(h.type::text) as type from gorda.hashed_by_number h cross join lateral pg_partition_tree(h.relid) p group by p.relid) h on h.relid = c.oid
            left join (select relid, min(attname::text) as attname, min(type::text) as type from gorda.ambiguous where noted = '*' group by relid) a on a.relid = c.oid -- none is made later
        where c.oid = any (changed) and (c.relkind = 'f' or c.relkind = 'r' and (c.relpersistence = 'u' or c.relpersistence = 'p' and coalesce(h.relid, a.relid) is not null)) and c.relnamespace <> 'gorda'::regnamespace
            and not exists (select from pg_trigger g where g.tgrelid = c.oid and g.tgname = 'gorda_refuse' and g.tgtype & 1 = 1)
    loop -- each row, which may come by way of a partitioned table or a parent
        execute format('create or replace trigger gorda_refuse before insert or update or delete on %s for each row execute function gorda.refuse(%L)', t.relid::regclass, t.reason);
    end loop;
    perform set_config('session_replication_role', role, true) where has_others;
    perform set_config('gorda.changed', '', true);
end $$;

-- What a statement has made of the rows of a query, as CREATE TABLE AS does, before gorda.adopt has seen it: the table, and how others make it, without a query that they might answer otherwise.
create or replace function gorda.made() returns table (relid oid, statement text) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    noted text := current_setting('gorda.changed', true);
begin
    if noted = '*' then
        raise exception using errcode = '0A000', message = 'a table made of a query cannot be replicated where event triggers change more with it: create it, then insert into it';
    end if;
    return query select c.oid, format('create table %s (%s)%s%s', c.oid::regclass,
            (select string_agg(format('%I %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                case when a.attcollation <> 0 and a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation else '' end), ', ' order by a.attnum)
            from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
            (select format(' using %I', m.amname) from pg_am m where m.oid = c.relam and m.amname <> 'heap'),
            ' with (' || array_to_string(c.reloptions, ', ') || ')')
        from pg_class c where c.oid = any (string_to_array(trim(noted, '|'), '|')::oid[]) and c.relkind = 'r' and c.relpersistence = 'p'
            and not exists (select from pg_trigger g where g.tgrelid = c.oid and g.tgname = 'gorda_delete');
    if exists (select from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = any (string_to_array(trim(noted, '|'), '|')::oid[])
            and t.typnamespace = pg_my_temp_schema()) then
        raise exception using errcode = '0A000', message = 'a table with a column of a temporary type cannot be replicated: cast it to another type';
    end if;
end $$;

-- Tells of the rows that such a table was made with, once gorda.adopt has seen it.
create or replace function gorda.tell_rows(token text, which oid) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    how text[] := (select regexp_match(encode(g.tgargs, 'escape'), E'^(\\S+) .*?(\\S+)\\\\000$') from pg_trigger g where g.tgrelid = which and g.tgname = 'gorda_insert');
begin
    perform gorda.know(token);
    execute format('select count(%s(%L, null::record, gorda_row.*)) from only %s gorda_row', how[2], how[1] || 'I', which::regclass);
end $$;

-- Which tables a statement may have changed, for gorda.adopt: those that it names and the server tells of. Of what else a statement can do, and what it drops or has leave its parent, all may be concerned.
create or replace function gorda.note(tag text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    noted text := current_setting('gorda.changed', true);
begin
    if noted = '*' then
        return;
    elsif tag = any ('{ALTER INDEX,ALTER SEQUENCE,ALTER TABLE,COMMENT,CREATE DOMAIN,CREATE FUNCTION,CREATE INDEX,CREATE MATERIALIZED VIEW,CREATE PROCEDURE,CREATE SCHEMA,'
                'CREATE SEQUENCE,CREATE TABLE,CREATE TABLE AS,CREATE TRIGGER,CREATE TYPE,CREATE VIEW,GRANT,REFRESH MATERIALIZED VIEW,REVOKE,SELECT INTO}')
            and not (tag = 'ALTER TABLE' and current_query() ~* E'\\m(detach|inherit)\\M') then
        noted := coalesce(nullif(noted, ''), '|') || coalesce((select string_agg(distinct coalesce(g.tgrelid, c.objid) || '|', '')
            from pg_event_trigger_ddl_commands() c left join pg_trigger g on c.classid = 'pg_trigger'::regclass and g.oid = c.objid
            where c.classid = 'pg_class'::regclass or g.oid is not null), '');
    else
        noted := '*';
    end if;
    perform set_config('gorda.changed', noted, true);
end $$;

-- Whether what has called is done by event triggers of others, at the origin only, and not by the statement that is replicated: that alone has no context beyond the function called for it, unless it
-- executes the script of an extension.
create or replace function gorda.is_of_event_trigger(context text) returns boolean language plpgsql stable as $$
begin
    return context like E'%\n%' and pg_catalog.current_query() !~* E'\\mextension\\M'
        and exists (select from pg_catalog.pg_event_trigger where evtname not like E'gorda\\_%');
end $$;

-- A new column whose values, in rows that are there, come from functions of the database's own, from what its domain has by DEFAULT, or are said to be of this moment: each replica would compute them for itself.
create or replace function gorda.computes_column() returns text language sql set search_path = pg_catalog, pg_temp as $$
    with recursive changed (relid) as (select c.objid from pg_event_trigger_ddl_commands() c
            where c.command_tag = 'ALTER TABLE' and c.schema_name is distinct from 'pg_temp'
        union select i.inhrelid from changed join pg_inherits i on i.inhparent = changed.relid)
    select format('column %I of %s, whose first values each replica would compute for itself, cannot be replicated: add it without a default, then set that, and update the rows',
        a.attname, a.attrelid::regclass)
    from changed join pg_attribute a on a.attrelid = changed.relid and a.atthasmissing and age(a.xmin) <= 0 join pg_type t on t.oid = a.atttypid
    where a.atthasdef and exists (select from pg_attrdef e join pg_depend u on u.classid = 'pg_attrdef'::regclass and u.objid = e.oid and u.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass)
            where e.adrelid = a.attrelid and e.adnum = a.attnum)
        or not a.atthasdef and (t.typdefaultbin::text ~ 'SQLVALUEFUNCTION|COERCEVIAIO|consttype (1082|1083|1114|1184|1266) ' or exists (select from regexp_matches(t.typdefaultbin::text, E':(?:func|opfunc)id (\\d+)', 'g') f (ids)
                join pg_proc p on p.oid = f.ids[1]::oid where p.provolatile <> 'i'))
        or (gorda.base_of(t.oid) ~ '^_?(date|time|timetz|timestamp|timestamptz)$' or t.typtype in ('r', 'm'))
            and current_query() ~* E'''\\s*([{[(]([^'']*[{[(,"])?\\s*)?([\\d:.]+\\s+)?(now|today|tomorrow|yesterday)\\M'
    limit 1
$$;

-- A change of the schema from within a function is not seen by who would have to replicate it. REINDEX changes none. What changes rows is executed by others, too, which are told of them
-- besides, but for those of event triggers; and they check rows when they may see other ones.
create or replace function gorda.changes_schema() returns event_trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    context text;
    reason text;
begin
    get diagnostics context = pg_context;
    if tg_tag <> 'REINDEX' and current_setting('session_replication_role') <> 'replica' then
        if not gorda.is_known() or gorda.is_of_event_trigger(context) then
            select tg_tag || ' within another statement cannot be replicated: execute it by itself' into reason
            from pg_event_trigger_ddl_commands() c where schema_name is distinct from 'pg_temp' and (c.object_type <> 'subscription' or tg_tag = 'CREATE SUBSCRIPTION')
                and not exists (select from pg_depend d join pg_class r on d.refclassid = 'pg_class'::regclass and r.oid = d.refobjid
                    where d.classid = c.classid and d.objid = c.objid and d.deptype in ('a', 'i') and r.relpersistence = 't') limit 1; -- triggers, rules and policies have no schema
        elsif context ~ E'\nPL/pgSQL function gorda\\.adopt\\(\\)' then
            reason := null; -- a trigger of ours
        elsif context ~ E'\n' then
            if current_query() !~* E'\\mextension\\M' and not exists (select from pg_event_trigger_ddl_commands() where schema_name = 'pg_temp') then
                reason := tg_tag || ' within another statement cannot be replicated: execute it by itself'; -- by a trigger of TRUNCATE
            end if;
        elsif tg_tag not in ('CREATE TABLE AS', 'SELECT INTO') and coalesce(current_setting('gorda.told', true), '') not in ('', '0|')
                and not exists (select from pg_event_trigger where evtname not like E'gorda\\_%') then
            reason := tg_tag || ' that changes rows by functions cannot be replicated: change them by statements of their own';
        else
            select format('constraint %I cannot be replicated, because %s, which it calls, is not IMMUTABLE: declare it so if it depends on nothing but what it is given;'
                    ' otherwise have a trigger check it, which only the origin calls', k.conname, p.oid::regprocedure) into reason
            from pg_event_trigger_ddl_commands() c join pg_constraint k on k.contype = 'c' and (c.classid = 'pg_class'::regclass and k.conrelid = c.objid
                    or c.classid = 'pg_type'::regclass and k.contypid = c.objid or c.classid = 'pg_proc'::regclass and exists (select from pg_depend u
                        where u.refclassid = c.classid and u.refobjid = c.objid and u.classid = 'pg_constraint'::regclass and u.objid = k.oid))
                join pg_depend d on d.classid = 'pg_constraint'::regclass and d.objid = k.oid
                left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
                join pg_proc p on p.oid = case d.refclassid when 'pg_proc'::regclass then d.refobjid else o.oprcode end
            where p.provolatile <> 'i' and c.schema_name is distinct from 'pg_temp' limit 1;
            reason := coalesce(reason, (select format('PARTITION BY HASH of %s cannot be replicated: by the numbers that a server has given it the rows of %s are in other partitions on each;'
                    ' partition BY LIST or RANGE, or by another column', h.type, c.objid::regclass)
                from pg_event_trigger_ddl_commands() c join gorda.hashed_by_number h on c.classid = 'pg_class'::regclass and h.relid = c.objid
                where c.schema_name is distinct from 'pg_temp' limit 1));
            reason := coalesce(reason, (select format('column %I of %s cannot be replicated: a server cannot read the name in a %s if several are called so; make it a %s',
                    a.attname, a.relid::regclass, a.type, replace(replace(a.type::text, 'regproc', 'regprocedure'), 'regoper', 'regoperator'))
                from pg_event_trigger_ddl_commands() c cross join lateral (select * from gorda.ambiguous where relid = case when c.classid = 'pg_class'::regclass then c.objid
                    when c.classid = 'pg_type'::regclass then (select typrelid from pg_type where oid = c.objid) end offset 0) a
                where c.schema_name is distinct from 'pg_temp' limit 1));
            reason := coalesce(reason, (select format('function %s cannot be replicated, because no trigger sees what it changes: have it leave session_replication_role and event_triggers',
                    h.oid::regprocedure)
                from pg_event_trigger_ddl_commands() c join gorda.hiding h on c.classid = 'pg_proc'::regclass and h.oid = c.objid limit 1));
            reason := coalesce(reason, case when current_query() ~* E'\\madd\\M' then gorda.computes_column() end);
        end if;
        if reason is not null then
            raise exception using errcode = '0A000', message = reason;
        end if;
    end if;
    perform gorda.note(tg_tag);
end $$;

create or replace function gorda.drops() returns event_trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    context text;
begin
    get diagnostics context = pg_context;
    if current_setting('session_replication_role') <> 'replica' and (not gorda.is_known() or gorda.is_of_event_trigger(context))
            and exists (select from pg_event_trigger_dropped_objects() where not is_temporary and object_type <> 'subscription') then
        raise exception using errcode = '0A000', message = tg_tag
            || ' within another statement cannot be replicated: execute it by itself';
    end if;
    perform set_config('gorda.changed', '*', true);
end $$;

-- Whether an expression gives the same values on each replica, as far as that is sure: where it has nothing but columns, constants that are not read anew, and the server's own functions that are IMMUTABLE, of
-- types whose values have neither numbers that a server gives nor digits that depend on settings. A configuration of text search is only given to functions.
create or replace function gorda.is_same_everywhere(expression text) returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
    select $1 !~ '\{(?!VAR |CONST |FUNCEXPR |OPEXPR |BOOLEXPR |RELABELTYPE |COALESCE|CASE|WHEN |MINMAX|ARRAY|NULLTEST |BOOLEANTEST |NULLIFEXPR |DISTINCTEXPR |SCALARARRAYOPEXPR |COERCETODOMAIN|COLLATE)[A-Z]'
        and $1 !~ ':varattno -'
        and not exists (select from regexp_matches($1, ':(?:op)?funcid (\d+)', 'g') f (ids) left join pg_proc p on p.oid = f.ids[1]::oid
            where p.oid is null or p.oid >= 16384 or p.provolatile <> 'i')
        and not exists (select from regexp_matches(replace($1, ':args ({CONST :consttype ' || 'regconfig'::regtype::oid, ''), '(CONST )?:\w*type(?:id)? (\d+)', 'g') f (ids)
            where f.ids[2]::bigint >= 16 and (f.ids[1] is not null and f.ids[2]::oid::regtype in ('date', 'time', 'timetz', 'timestamp', 'timestamptz')
                or gorda.base_of(f.ids[2]::oid) !~ '^(_?(bool|int[248]|numeric|text|varchar|bpchar|uuid|bytea|jsonb?)|date|time|timestamp|timestamptz|interval|tsvector|tsquery)$'))
$$;

-- What a change of the schema computes for rows that are there would be another value on each replica.
create or replace function gorda.rewrites() returns event_trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    rewritten oid := pg_event_trigger_table_rewrite_oid();
begin
    if pg_event_trigger_table_rewrite_reason() & 2 <> 0 and (select relpersistence from pg_class where oid = rewritten) <> 't'
        and exists (select from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = rewritten and a.attnum > 0 and not a.attisdropped and (age(a.xmin) <= 0 or a.attgenerated <> '')
                and (a.attidentity <> '' or not gorda.is_same_everywhere(coalesce(d.adbin, t.typdefaultbin)::text))) then
        raise exception using errcode = '0A000', message = format(
            'a new column of %s whose values are computed for each row, by more than the server''s own functions that are IMMUTABLE, cannot be replicated: add it without, and update the rows',
            rewritten::regclass);
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
alter event trigger gorda_schema enable always; -- who applies notes what is changed, too
alter event trigger gorda_drops enable always;

