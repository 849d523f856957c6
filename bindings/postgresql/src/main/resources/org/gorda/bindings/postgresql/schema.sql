-- The statements that make a schema like this one: phase 0 tells what cannot be made again, 1 is before the rows, 2 after them. What
-- fails because something is not there yet is to be tried again. With search_path = pg_catalog all names have their schemas.
with ours as (
    select oid from pg_namespace where nspname not in ('gorda', 'information_schema') and nspname not like 'pg\_%'),
members as ( -- of extensions, and what a type brings with it
    select classid, objid from pg_depend where deptype = 'e' or deptype = 'i' and classid in ('pg_proc'::regclass, 'pg_cast'::regclass)),
relations as (
    select c.*, c.oid::regclass::text as named, quote_ident(pg_get_userbyid(c.relowner)) as owner
    from pg_class c
    where c.relnamespace in (select oid from ours) and c.relpersistence <> 't'
        and not exists (select from members where classid = 'pg_class'::regclass and objid = c.oid)),
sequences as ( -- with their own bounds, where values are leased
    select s.seqrelid, s.seqtypid, coalesce(g.start, s.seqstart) as seqstart, s.seqincrement, s.seqcache, coalesce(g.low, s.seqmin) as seqmin, coalesce(g.high, s.seqmax) as seqmax,
        coalesce(g.cycles, s.seqcycle) as seqcycle, g.relid is null as isown,
        case when g.next between g.low and g.high then g.next when g.increment > 0 then g.high else g.low end as value, g.next between g.low and g.high as isnext
    from pg_sequence s left join gorda.generator g on g.relid = s.seqrelid),
functions as (
    select p.*, format('%s %s', case p.prokind when 'p' then 'procedure' else 'function' end, p.oid::regprocedure) as named
    from pg_proc p
    where p.pronamespace in (select oid from ours)
        and not exists (select from members where classid = 'pg_proc'::regclass and objid = p.oid)),
types as (
    select t.*, t.oid::regtype::text as named
    from pg_type t
    where t.typnamespace in (select oid from ours) and t.typtype in ('e', 'd', 'r', 'c')
        and (t.typrelid = 0 or (select relkind = 'c' from pg_class where oid = t.typrelid))
        and not exists (select from members where classid = 'pg_type'::regclass and objid = t.oid)),
late as ( -- defaults by functions that may read the table itself
    select a.oid from pg_attrdef a join pg_attribute on attrelid = adrelid and attnum = adnum and attgenerated = ''
        join pg_depend on classid = 'pg_attrdef'::regclass and objid = a.oid and refclassid = 'pg_proc'::regclass
        join pg_proc p on p.oid = refobjid and prosqlbody is not null),
grants as ( -- of what an extension has brought where they are not those that it has given
    select * from (
        select 'pg_namespace'::regclass as class, oid, 0 as place, nspacl as acl, nspowner as owner, '' as columns, 'schema ' || quote_ident(nspname) as named
        from pg_namespace where oid in (select oid from ours)
        union all
        select 'pg_class'::regclass, oid, 0, relacl, relowner, '', case relkind when 'S' then 'sequence ' else 'table ' end || oid::regclass
        from pg_class where relnamespace in (select oid from ours) and relpersistence <> 't'
        union all
        select 'pg_proc'::regclass, oid, 0, proacl, proowner, '', case prokind when 'p' then 'procedure ' else 'function ' end || oid::regprocedure
        from pg_proc where pronamespace in (select oid from ours)
        union all
        select 'pg_type'::regclass, oid, 0, typacl, typowner, '', 'type ' || oid::regtype from pg_type where typnamespace in (select oid from ours)
        union all
        select 'pg_class'::regclass, c.oid, attnum, attacl, relowner, format(' (%I)', attname), 'table ' || c.oid::regclass
        from pg_attribute join pg_class c on c.oid = attrelid where relnamespace in (select oid from ours) and relpersistence <> 't' and not attisdropped) g
    where acl is not null and (class = 'pg_namespace'::regclass
        or acl is distinct from (select initprivs from pg_init_privs where classoid = class and objoid = oid and objsubid = place)))
select 0 as phase, 0 as place, 0::oid as made, object as sql from (${uncopied}) u
union all
select 0, 0, 0, 'table ' || relid::regclass || ', PARTITION BY HASH of ' || min(type::text)
from gorda.hashed_by_number where relid in (select oid from relations) group by relid
union all
select 1, 1, oid, format('create schema if not exists %1$I; alter schema %1$I owner to %2$I', nspname, pg_get_userbyid(nspowner))
from pg_namespace where oid in (select oid from ours)
union all
select 1, 2, oid, format('create extension if not exists %I schema %s', extname, extnamespace::regnamespace)
    || case extowner when 10 then '' else format( -- there is no ALTER EXTENSION ... OWNER
        '; update pg_extension set extowner = %1$L::regrole where extname = %2$L'
        '; delete from pg_shdepend s using pg_extension e, pg_database d where e.extname = %2$L and d.datname = current_database()'
            ' and s.dbid = d.oid and s.classid = e.tableoid and s.objid = e.oid'
        '; insert into pg_shdepend select d.oid, e.tableoid, e.oid, 0, ''pg_authid''::regclass, e.extowner, ''o'''
            ' from pg_extension e, pg_database d where e.extname = %2$L and d.datname = current_database()', pg_get_userbyid(extowner), extname) end
from pg_extension where extnamespace <> to_regnamespace('gorda')
union all
select 1, 3, t.oid, case t.typtype
        when 'e' then format('create type %s as enum (%s)', t.named,
            (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid))
        when 'd' then format('create domain %s as %s%s%s%s%s', t.named, format_type(t.typbasetype, t.typtypmod),
            case when t.typcollation <> (select typcollation from pg_type where oid = t.typbasetype) then ' collate ' || t.typcollation::regcollation else '' end,
            coalesce(' default ' || t.typdefault, ''), coalesce(
                (select format(' constraint %I not null', conname) from pg_constraint where contypid = t.oid and contype = 'n'),
                case when t.typnotnull then ' not null' else '' end),
            (select string_agg(format(' constraint %I %s', conname, pg_get_constraintdef(oid)), '' order by conname)
                from pg_constraint where contypid = t.oid and contype = 'c' and convalidated))
        when 'r' then (select format('create type %s as range (subtype = %s, subtype_opclass = %I.%I, multirange_type_name = %s%s%s%s)', t.named,
                rngsubtype::regtype, nspname, opcname, rngmultitypid::regtype, ', collation = ' || nullif(rngcollation, 0)::regcollation,
                ', canonical = ' || nullif(rngcanonical::oid, 0)::regproc, ', subtype_diff = ' || nullif(rngsubdiff::oid, 0)::regproc)
            from pg_range join pg_opclass o on o.oid = rngsubopc join pg_namespace n on n.oid = opcnamespace where rngtypid = t.oid)
        else format('create type %s as (%s)', t.named,
            (select string_agg(format('%I %s%s', attname, format_type(atttypid, atttypmod),
                case when attcollation <> (select typcollation from pg_type where oid = atttypid) then ' collate ' || attcollation::regcollation else '' end), ', ' order by attnum)
                from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped)) end
    || format('; alter type %s owner to %I', t.named, pg_get_userbyid(t.typowner))
from types t
union all -- for the function that brings its values into one form, which needs it, and which it needs
select 1, 2, rngtypid, format('create type %s', named) from pg_range join types t on t.oid = rngtypid where rngcanonical::oid <> 0
union all
select 1, 3, d.oid, format('create text search dictionary %s (template = %I.%I%s); alter text search dictionary %1$s owner to %5$I',
    d.oid::regdictionary, n.nspname, t.tmplname, ', ' || d.dictinitoption, pg_get_userbyid(d.dictowner))
from pg_ts_dict d join pg_ts_template t on t.oid = d.dicttemplate join pg_namespace n on n.oid = t.tmplnamespace
where d.dictnamespace in (select oid from ours) and not exists (select from members where classid = 'pg_ts_dict'::regclass and objid = d.oid)
union all
select 1, 4, oid, pg_get_functiondef(oid) from functions where prokind in ('f', 'p')
union all -- by itself: behind BEGIN ATOMIC the driver does not see where a statement ends
select 1, 4, oid, format('alter %s owner to %I', named, pg_get_userbyid(proowner)) from functions where prokind in ('f', 'p')
union all
select 1, 5, r.oid, format('create sequence %s as %s increment %s minvalue %s maxvalue %s start %s cache %s %s; alter sequence %1$s owner to %9$s',
    r.named, s.seqtypid::regtype, s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
    case when s.seqcycle then 'cycle' else '' end, r.owner)
from relations r join sequences s on s.seqrelid = r.oid
where not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = r.oid and d.deptype = 'i')
union all
select 1, 6, r.oid, format('create %stable %s (%s)%s%s; alter table %2$s owner to %6$s',
    case r.relpersistence when 'u' then 'unlogged ' else '' end, r.named,
    (select string_agg(format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attcollation <> 0 and a.attcollation <> (select typcollation from pg_type where oid = a.atttypid)
            then ' collate ' || a.attcollation::regcollation else '' end,
        case
            when a.attgenerated <> '' then format(' generated always as (%s) %s', pg_get_expr(d.adbin, d.adrelid),
                case a.attgenerated when 's' then 'stored' else 'virtual' end)
            when a.attidentity <> '' then (
                select format(' generated %s as identity (sequence name %s increment %s minvalue %s maxvalue %s start %s cache %s %s)',
                    case a.attidentity when 'a' then 'always' else 'by default' end, q.seqrelid::regclass, q.seqincrement, q.seqmin,
                    q.seqmax, q.seqstart, q.seqcache, case when q.seqcycle then 'cycle' else '' end)
                from sequences q where q.seqrelid = pg_get_serial_sequence(r.named, a.attname)::regclass)
            when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
            else '' end,
        case when n.oid is null then case when a.attnotnull then ' not null' else '' end
            when n.convalidated then format(' constraint %I not null%s', n.conname, case when n.connoinherit then ' no inherit' else '' end) else '' end),
        ', ' order by a.attnum)
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum and d.oid not in (select oid from late)
        left join pg_constraint n on n.conrelid = a.attrelid and n.contype = 'n' and n.conkey = array[a.attnum]
    where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped),
    case r.relkind when 'p' then ' partition by ' || pg_get_partkeydef(r.oid) else '' end,
    coalesce(' with (' || array_to_string(r.reloptions, ', ') || ')', ''), r.owner)
from relations r where r.relkind in ('r', 'p')
union all
select 1, 7, i.inhrelid, case when c.relispartition
    then format('alter table %s attach partition %s %s', i.inhparent::regclass, i.inhrelid::regclass, pg_get_expr(c.relpartbound, c.oid))
    else format('alter table %s inherit %s', i.inhrelid::regclass, i.inhparent::regclass) end
from pg_inherits i join relations c on c.oid = i.inhrelid where c.relkind in ('r', 'p')
union all -- whose columns are its parents' alone: it loses them with them
select 1, 8, c.oid, format('update pg_attribute set attislocal = false where attrelid = %L::regclass and attname = %L', c.named, a.attname)
from relations c join pg_attribute a on a.attrelid = c.oid
where c.relkind = 'r' and not c.relispartition and a.attinhcount > 0 and not a.attislocal and not a.attisdropped
union all
select 1, 8, c.oid, format('update pg_constraint set conislocal = false where conrelid = %L::regclass and conname = %L', c.named, k.conname)
from relations c join pg_constraint k on k.conrelid = c.oid and k.contype = 'n' and k.convalidated
where c.relkind = 'r' and not c.relispartition and not k.conislocal
union all
select 1, 8, c.oid, format('alter table %s of %s', c.named, c.reloftype::regtype) from relations c where c.reloftype <> 0
union all
select 2, 1, r.oid, case when s.isown then format('select setval(%L, %s)', r.named, gorda.standing(r.oid)) else format('select setval(%L, %s, %L)', r.named, s.value, not s.isnext) end
from relations r join sequences s on s.seqrelid = r.oid
union all
select 2, 2, d.objid, format('alter sequence %s owned by %s.%I', d.objid::regclass, d.refobjid::regclass, a.attname)
from pg_depend d join relations s on s.oid = d.objid and s.relkind = 'S'
    join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a'
union all
select 2, 3, k.oid, format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
from pg_constraint k join relations r on r.oid = k.conrelid
where (k.contype = 'c' or k.contype = 'n' and not k.convalidated) and k.conislocal
union all
select 2, 3, k.oid, format('alter domain %s add constraint %I %s', t.named, k.conname, pg_get_constraintdef(k.oid))
from pg_constraint k join types t on t.oid = k.contypid where k.contype = 'c' and not k.convalidated
union all -- a partition's own first, by its own name
select 2, 3, k.oid, format('alter table only %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
from pg_constraint k join relations r on r.oid = k.conrelid where k.contype in ('p', 'u', 'x')
union all
select 2, 4, i.indexrelid, pg_get_indexdef(i.indexrelid)
from pg_index i join relations r on r.oid = i.indexrelid
where not exists (select from pg_constraint where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
union all -- a partitioned table's has none of them yet
select 2, 5, i.inhrelid, format('alter index %s attach partition %s', i.inhparent::regclass, i.inhrelid::regclass)
from pg_inherits i join relations r on r.oid = i.inhrelid where r.relkind in ('i', 'I')
union all
select 2, 6, k.oid, format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
from pg_constraint k join relations r on r.oid = k.conrelid where k.contype = 'f' and k.conparentid = 0
union all
select case r.relkind when 'm' then 2 else 1 end, case r.relkind when 'm' then 7 else 9 end, r.oid, format('create %s %s%s as %s; alter %1$s %2$s owner to %5$s',
    case r.relkind when 'm' then 'materialized view' else 'view' end, r.named,
    coalesce(' with (' || array_to_string(r.reloptions, ', ') || ')', ''), rtrim(pg_get_viewdef(r.oid), ';'), r.owner)
from relations r where r.relkind in ('v', 'm')
union all
select 2, 8, d.oid, format('alter table only %s alter column %I set default %s', r.named, a.attname, pg_get_expr(d.adbin, d.adrelid))
from pg_attrdef d join relations r on r.oid = d.adrelid and (r.relkind = 'v' or d.oid in (select oid from late)) join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
union all
select 2, 8, r.oid, format('alter table %s enable row level security', r.named) from relations r where r.relrowsecurity
union all
select 2, 8, r.oid, format('alter table %s force row level security', r.named) from relations r where r.relforcerowsecurity
union all
select 2, 8, p.oid, format('create policy %I on %s as %s for %s to %s%s%s', p.polname, r.named, case when p.polpermissive then 'permissive' else 'restrictive' end,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    (select string_agg(case o.role when 0 then 'public' else quote_ident(pg_get_userbyid(o.role)) end, ', ') from unnest(p.polroles) o (role)),
    ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')', ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
from pg_policy p join relations r on r.oid = p.polrelid
union all
select 2, 8, r.oid, format('alter table %s replica identity %s', r.named, case r.relreplident when 'f' then 'full' when 'n' then 'nothing'
    else (select format('using index %I', x.relname) from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = r.oid and i.indisreplident) end)
from relations r where r.relkind in ('r', 'p') and r.relreplident <> 'd' and (r.relreplident <> 'i' or exists (select from pg_index where indrelid = r.oid and indisreplident))
union all
select 2, 8, r.oid, format('alter table %s cluster on %I', r.named, x.relname)
from relations r join pg_index i on i.indrelid = r.oid and i.indisclustered join pg_class x on x.oid = i.indexrelid where r.relkind = 'r'
union all
select 2, 8, w.oid, pg_get_ruledef(w.oid) || case w.ev_enabled when 'O' then '' else format(' alter table %s %s rule %I',
    r.named, case w.ev_enabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, w.rulename) end
from pg_rewrite w join relations r on r.oid = w.ev_class where w.rulename <> '_RETURN'
union all
select 2, 9, t.oid, pg_get_triggerdef(t.oid) || case t.tgenabled when 'O' then '' else format('; alter table only %s %s trigger %I',
    r.named, case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, t.tgname) end
from pg_trigger t join relations r on r.oid = t.tgrelid
where not t.tgisinternal and t.tgparentid = 0 and t.tgname not like 'gorda\_%'
union all -- that of a partition, by itself: 14 has them as internal, as those of foreign keys are
select 2, 10, t.oid, format('alter table only %s %s trigger %I', r.named, case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, t.tgname)
from pg_trigger t join relations r on r.oid = t.tgrelid
where t.tgparentid <> 0 and t.tgenabled <> 'O' and t.tgname not like 'RI\_ConstraintTrigger%'
union all
select 2, 10, oid, format('%s; alter statistics %s.%I owner to %I', pg_get_statisticsobjdef(oid), stxnamespace::regnamespace, stxname, pg_get_userbyid(stxowner))
from pg_statistic_ext
union all
select 2, 10, p.oid, format('create publication %I%s with (publish = %L, publish_via_partition_root = %s%s); alter publication %1$I owner to %6$I', p.pubname,
    case when p.puballtables then ' for all tables' else '' end, concat_ws(', ', case when p.pubinsert then 'insert' end, case when p.pubupdate then 'update' end,
        case when p.pubdelete then 'delete' end, case when p.pubtruncate then 'truncate' end), p.pubviaroot::text,
    case to_jsonb(p) ->> 'pubgencols' when 's' then ', publish_generated_columns = stored' else '' end, pg_get_userbyid(p.pubowner))
from pg_publication p
union all -- 14 does not have those columns: then they are null
select 2, 11, m.oid, format('alter publication %I add table only %s%s%s', p.pubname, m.prrelid::regclass,
    (select ' (' || string_agg(quote_ident(attname), ', ' order by attnum) || ')' from pg_attribute where attrelid = m.prrelid and attnum = any (m.prattrs)),
    ' where (' || pg_get_expr(m.prqual, m.prrelid) || ')')
from (select null::int2vector as prattrs, null::pg_node_tree as prqual) nothing, pg_publication p,
    lateral (select r.oid, r.prrelid, prattrs, prqual from pg_publication_rel r where r.prpubid = p.oid) m
union all -- nor that catalogue
select 2, 11, d.objid, format('alter publication %I add tables in schema %s', p.pubname, s.refobjid::regnamespace)
from pg_publication p join pg_depend d on d.refclassid = 'pg_publication'::regclass and d.refobjid = p.oid and d.classid = to_regclass('pg_publication_namespace')
    join pg_depend s on s.classid = d.classid and s.objid = d.objid and s.refclassid = 'pg_namespace'::regclass
union all
select 2, 12, d.objoid, format('comment on %s is %L', case i.type
        when 'domain constraint' then (select format('constraint %I on domain %s', conname, contypid::regtype) from pg_constraint where oid = d.objoid)
        else regexp_replace(regexp_replace(i.type, '^.* (column|constraint)$', '\1'), '^(statistics) object$|^composite (type)$', '\1\2') || ' ' || i.identity end, d.description)
from pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) i
where d.objoid >= 16384 and i.schema is distinct from 'gorda' and i.identity not like '%gorda\_%'
    and not exists (select from members where classid = d.classoid and objid = d.objoid)
    and not exists (select from pg_extension where oid = d.objoid)
union all
select 2, 13, 0, format('revoke all%s on %s from public, %I', columns, named, pg_get_userbyid(owner)) from grants
union all -- what a superuser grants the owner does, who may have no access to the schema
select 2, 14, 0, format(case a.grantor when g.owner then '%s' else 'set session authorization %2$I; %1$s; set session authorization default' end,
    format('grant %s%s on %s to %s%s', a.privilege_type, g.columns, g.named,
        case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end, case when a.is_grantable then ' with grant option' else '' end),
    pg_get_userbyid(a.grantor))
from grants g, aclexplode(g.acl) a
order by 1, 2, 3
