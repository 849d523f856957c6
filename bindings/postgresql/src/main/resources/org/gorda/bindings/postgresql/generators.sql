-- Where the values of generators are leased, the server's sequences give what is leased to this replica and nothing else: the bounds in the catalogue are those
-- of the lease. Without one the last value is at the end of them, so that nextval finds none. A value that was set and not called would be given whatever the
-- bounds are, so that there is one within a lease only. The bounds are such as a sequence can be made with, and the start is within them: who dumps the
-- catalogue can restore it.
create table if not exists gorda.leasing (leases boolean not null, era bigint not null);
alter table gorda.leasing replica identity full; -- as gorda.flush
insert into gorda.leasing select false, 0 where not exists (select from gorda.leasing);

-- All generators, while they are leased, by names that a dump can restore: their own bounds and start, where each goes on for who leases first after the last
-- schema change, and the lease; the file is another one when the sequence was restarted.
create table if not exists gorda.generator (
    relid regclass not null primary key, file oid not null, increment bigint not null, low bigint not null, high bigint not null, cycles boolean not null,
    next numeric not null, first bigint, last bigint, shown boolean not null default false, start bigint not null);
do $$ begin -- made by a version that left the start as it was
    if not exists (select from pg_attribute where attrelid = 'gorda.generator'::regclass and attname = 'start') then
        alter table gorda.generator alter column relid type regclass, add column start bigint;
        update gorda.generator b set start = s.seqstart from pg_sequence s where s.seqrelid = b.relid;
        delete from gorda.generator where start is null;
        alter table gorda.generator alter column start set not null;
    end if;
end $$;
grant select on gorda.leasing, gorda.generator to public;

create or replace function gorda.require(token text) returns void language plpgsql as $$
begin
    if encode(sha256(convert_to(token, 'UTF8')), 'hex') <> '${digest}' then
        perform gorda.refuse_token();
    end if;
end $$;

-- Where a sequence is, as setval takes it. The lock is given back, of which the server may not have as many as there are sequences.
create or replace function gorda.standing(which oid) returns text language plpgsql as $$
declare
    found text;
begin
    execute format('select concat(last_value, '', '', is_called::text) from %s', which::regclass) into found;
    raise exception using errcode = 'GW003';
exception when sqlstate 'GW003' then
    return found;
end $$;

-- Gives a generator the bounds of its lease, or of what it has given last. They are at least two values, since no sequence is made of less, the further one where
-- values come from; and none at all, the lowest above the highest, if there is no such value.
create or replace function gorda.bound(which oid) returns void language plpgsql as $$
declare
    g gorda.generator;
    first numeric;
    last numeric;
begin
    select * into g from gorda.generator where relid = which;
    first := coalesce(g.first, pg_sequence_last_value(which));
    last := coalesce(g.last, first);
    if g.first is null or first = last then
        first := first - sign(g.increment);
    end if;
    update pg_sequence set seqcycle = false, seqstart = coalesce(g.first, last, g.start),
        seqmin = case when first between '-9223372036854775808' and 9223372036854775807 then least(first, last) else 9223372036854775807 end,
        seqmax = case when first between '-9223372036854775808' and 9223372036854775807 then greatest(first, last) else '-9223372036854775808' end
    where seqrelid = which;
end $$;

-- Gives it its own bounds, for what follows in the transaction, and keeps others from taking values until it ends.
create or replace function gorda.unbound(which oid) returns void language plpgsql as $$
begin
    update pg_sequence s set seqstart = g.start, seqmin = g.low, seqmax = g.high, seqcycle = g.cycles
    from gorda.generator g where g.relid = which and s.seqrelid = which;
    execute (select format('alter sequence %s cache %s', seqrelid::regclass, seqcache) from pg_sequence where seqrelid = which);
end $$;

-- Those that nobody has bound yet: what the transaction has made, or all where leases begin.
create or replace function gorda.bind_new() returns void language plpgsql as $$
declare
    s record;
    value bigint;
    called boolean;
begin
    for s in select q.* from pg_sequence q join pg_class c on c.oid = q.seqrelid
        where c.relpersistence = 'p' and not exists (select from gorda.generator g where g.relid = q.seqrelid) order by q.seqrelid
    loop
        execute format('alter sequence %s cache %s', s.seqrelid::regclass, s.seqcache); -- nobody takes values meanwhile
        execute format('select last_value, is_called from %s', s.seqrelid::regclass) into value, called;
        if not called then
            perform setval(s.seqrelid, value);
        end if;
        insert into gorda.generator (relid, file, increment, low, high, cycles, start, next)
            select s.seqrelid, c.relfilenode, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle, s.seqstart,
                case when called then value::numeric + s.seqincrement else value end from pg_class c where c.oid = s.seqrelid;
        perform gorda.bound(s.seqrelid);
    end loop;
end $$;

-- Has a generator that has its own bounds go on with a value, if it is within them.
create or replace function gorda.place(which oid, value numeric, g gorda.generator) returns void language plpgsql as $$
begin
    if value between g.low and g.high then
        perform setval(which, value::bigint, false);
    else
        perform setval(which, case when g.increment > 0 then g.high else g.low end);
    end if;
end $$;

-- Generators go on by themselves, where they are.
create or replace function gorda.unbind_all() returns void language plpgsql as $$
declare
    g gorda.generator;
    further numeric;
begin
    delete from gorda.generator b where not exists (select from pg_sequence where seqrelid = b.relid);
    for g in select * from gorda.generator order by relid loop
        perform gorda.unbound(g.relid);
        if g.first is not null then
            further := coalesce(pg_sequence_last_value(g.relid)::numeric + g.increment, g.first);
        end if;
        if g.first is null or (further - g.next) * sign(g.increment) < 0 then
            further := g.next;
        end if;
        perform gorda.place(g.relid, further, g);
    end loop;
    delete from gorda.generator;
end $$;

-- From this transaction on values are leased, or are not any more.
create or replace function gorda.lease_generators(begins boolean) returns void language plpgsql security definer
    set search_path = pg_catalog, pg_temp set session_replication_role = replica set client_min_messages = warning as $$
begin
    if begins then
        perform gorda.bind_new();
    else
        perform gorda.unbind_all();
    end if;
    update gorda.leasing set leases = begins, era = era + 1;
end $$;

-- The database is no group's any more, and leases nothing. Its tables' generators go on behind what is in their rows: leased values of others are told nowhere else.
create or replace function gorda.forget() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    g record;
    farthest numeric;
begin
    for g in select s.seqrelid, s.seqincrement, coalesce(pg_sequence_last_value(s.seqrelid), s.seqstart - s.seqincrement) as last,
            format('select %s(%I)::numeric from %s', case when s.seqincrement > 0 then 'max' else 'min' end, a.attname, d.refobjid::regclass) as rows
        from pg_sequence s join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid and d.objsubid = 0
            and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
            join pg_class c on c.oid = d.refobjid and c.relkind in ('r', 'p') and c.relpersistence = 'p'
            join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid and a.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
    loop
        execute g.rows into farthest;
        if (farthest - g.last) * sign(g.seqincrement) > 0
                and exists (select from pg_sequence where seqrelid = g.seqrelid and farthest between seqmin and seqmax) then
            perform setval(g.seqrelid, farthest::bigint);
        end if;
    end loop;
    delete from gorda.position;
end $$;

-- Takes a value that was set and not called.
create or replace function gorda.take(which oid) returns void language plpgsql as $$
begin
    if pg_sequence_last_value(which) is null then
        perform nextval(which);
    end if;
exception
    when sequence_generator_limit_exceeded then -- somebody else has taken it
end $$;

-- Has a generator go on with a value; null if it has none left.
create or replace function gorda.settle(which oid, value bigint) returns void language plpgsql as $$
declare
    g gorda.generator;
begin
    select * into g from gorda.generator where relid = which;
    if not found and value is not null then
        perform setval(which, value, false);
    elsif not found then
        perform setval(which, case when seqincrement > 0 then seqmax else seqmin end) from pg_sequence where seqrelid = which;
    else
        if g.first is not null then
            perform gorda.take(which);
        end if;
        update gorda.generator b set first = null, last = null,
            next = coalesce(value, case when g.increment > 0 then g.high else g.low end::numeric + g.increment) where b.relid = which;
        perform gorda.bound(which);
    end if;
end $$;

-- The leases of an earlier opening have ended. A server that was not shut down in order may be some values further than it was.
create or replace function gorda.end_leases() returns void language plpgsql as $$
declare
    g record;
begin
    for g in select b.* from gorda.generator b join pg_sequence s on s.seqrelid = b.relid
        where b.first is not null or pg_sequence_last_value(b.relid) not between s.seqmin and s.seqmax order by b.relid
    loop
        perform gorda.take(g.relid);
        update gorda.generator b set first = null, last = null where b.relid = g.relid;
        perform gorda.bound(g.relid);
    end loop;
    update gorda.generator b set file = c.relfilenode from pg_class c where c.oid = b.relid and c.relfilenode <> b.file;
    update gorda.leasing set era = era + 1;
end $$;

-- A lease begins, unless the schema has changed since it was asked for.
create or replace function gorda.begin_lease(which oid, in_era bigint, from_value bigint, to_value bigint, gently boolean) returns boolean language plpgsql as $$
declare
    g gorda.generator;
begin
    perform from gorda.leasing where leases and era = in_era for share;
    if not found then
        return false;
    end if;
    select * into g from gorda.generator where relid = which for update;
    if not found then
        return false;
    end if;
    if g.last is null or g.last::numeric + g.increment <> from_value then
        -- Who finds the bounds of before and the value of now is refused, so that nobody is to be between them.
        if gently then
            perform gorda.unbound(which);
        else
            update pg_sequence set seqmin = g.low, seqmax = g.high where seqrelid = which;
        end if;
        perform setval(which, from_value, false);
        g.first := from_value;
    end if;
    update gorda.generator b set file = c.relfilenode, first = g.first, last = to_value from pg_class c where b.relid = which and c.oid = which;
    perform gorda.bound(which);
    return true;
end $$;

-- Before a statement that may look at generators' bounds: those have their own, all or those of some relations. They begin at their start for one that ALTERS
-- them, which then fails on all replicas or on none, and where they go on for one that SETS that.
create or replace function gorda.show_generators(token text, relations oid[], change text) returns void language plpgsql security definer
    set search_path = pg_catalog, pg_temp set session_replication_role = replica set client_min_messages = warning as $$
declare
    g gorda.generator;
begin
    perform gorda.require(token);
    for g in with recursive named as (
            select unnest(relations) as relid union select i.inhrelid from pg_inherits i join named n on n.relid = i.inhparent)
        select b.* from gorda.generator b join pg_sequence s on s.seqrelid = b.relid
        where relations is null or b.relid in (select relid from named)
            or exists (select from pg_depend d join named n on n.relid = d.refobjid where d.classid = 'pg_class'::regclass and d.objid = b.relid
                and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i'))
        order by b.relid
    loop
        update gorda.generator b set shown = true where b.relid = g.relid;
        if change = 'ALTERS' then
            perform gorda.unbound(g.relid);
            execute format('alter sequence %s restart', g.relid::regclass);
            perform gorda.take(g.relid);
        elsif change = 'SETS' then
            perform gorda.unbound(g.relid);
            perform gorda.place(g.relid, g.next, g);
        else
            update pg_sequence set seqstart = g.start, seqmin = g.low, seqmax = g.high, seqcycle = g.cycles where seqrelid = g.relid;
        end if;
    end loop;
end $$;

-- After a statement: what it has shown, restarted, set or changed is bound again, without a lease.
create or replace function gorda.hide_generators(token text, change text) returns void language plpgsql security definer
    set search_path = pg_catalog, pg_temp set session_replication_role = replica set client_min_messages = warning as $$
declare
    g record;
    value bigint;
    called boolean;
begin
    perform gorda.require(token);
    for g in select b.*, c.relfilenode, s.seqincrement, s.seqstart, s.seqmin, s.seqmax, s.seqcycle
        from gorda.generator b join pg_class c on c.oid = b.relid join pg_sequence s on s.seqrelid = b.relid
        where b.shown or c.relfilenode <> b.file order by b.relid
    loop
        if g.relfilenode <> g.file then
            if g.shown then
                g.increment := g.seqincrement;
                g.start := g.seqstart;
                g.low := g.seqmin;
                g.high := g.seqmax;
                g.cycles := g.seqcycle;
            else
                perform gorda.unbound(g.relid);
            end if;
            execute format('select last_value, is_called from %s', g.relid::regclass) into value, called;
            if not called then -- or it was restarted by its table's TRUNCATE, where its lease begins
                g.next := case when g.shown then value else g.start end;
                perform setval(g.relid, g.next::bigint);
            elsif change = 'SETS' then
                g.next := value::numeric + g.increment;
            end if;
            g.next := case when g.increment > 0 then greatest(g.next, g.low) else least(g.next, g.high) end;
            update gorda.generator b set file = c.relfilenode, increment = g.increment, start = g.start, low = g.low, high = g.high, cycles = g.cycles,
                next = g.next, first = null, last = null from pg_class c where b.relid = g.relid and c.oid = g.relid;
        end if;
        update gorda.generator b set shown = false where b.relid = g.relid;
        perform gorda.bound(g.relid);
    end loop;
end $$;

-- The last of a transaction that has changed the schema: what it has made is leased from its commit on, and what was leased before it is not any more.
create or replace function gorda.settle_schema(token text) returns void language plpgsql security definer
    set search_path = pg_catalog, pg_temp set session_replication_role = replica set client_min_messages = warning as $$
begin
    perform gorda.require(token);
    delete from gorda.generator b where not exists (select from pg_sequence where seqrelid = b.relid);
    perform gorda.bind_new();
    update gorda.leasing set era = era + 1;
end $$;

grant execute on all functions in schema gorda to public; -- also where that is not the default
revoke all on function gorda.bound(oid), gorda.unbound(oid), gorda.bind_new(), gorda.unbind_all(), gorda.lease_generators(boolean), gorda.take(oid),
    gorda.place(oid, numeric, gorda.generator),
    gorda.settle(oid, bigint), gorda.end_leases(), gorda.begin_lease(oid, bigint, bigint, bigint, boolean) from public;
