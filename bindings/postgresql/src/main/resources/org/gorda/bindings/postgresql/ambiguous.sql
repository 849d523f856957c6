-- Columns whose texts a server may not read back: names of functions or operators without what they are given, of which there may be several.
select a.attrelid as relid, c.relkind, a.attname, b.oid::regtype as type
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_type t on t.oid = a.atttypid
    join pg_catalog.pg_type b on b.oid = case t.typtype when 'd' then t.typbasetype else t.oid end
where c.oid >= 16384 and c.relkind in ('r', 'p', 'c') and c.relpersistence <> 't' and a.attnum > 0
    and b.oid in ('regproc'::regtype, 'regoper'::regtype, 'regproc[]'::regtype, 'regoper[]'::regtype)
