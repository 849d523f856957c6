-- Tables whose rows are in other partitions on each server, and by which type: the hash of a value of an enumeration is that of its number in the catalogue, and so are those of types that are made of it.
-- Of what an expression returns the kind of its type is known alone.
with recursive hashed (relid, type) as (
    select p.partrelid, coalesce(a.atttypid, o.opcintype) from pg_catalog.pg_partitioned_table p
        cross join unnest(p.partattrs::int2[], p.partclass::oid[]) k (attnum, opclass) join pg_catalog.pg_opclass o on o.oid = k.opclass
        left join pg_catalog.pg_attribute a on a.attrelid = p.partrelid and a.attnum = k.attnum
    where p.partstrat = 'h'
    union
    select h.relid, m.type from hashed h join pg_catalog.pg_type t on t.oid = h.type cross join lateral (
        select t.typelem union all select t.typbasetype
        union all select r.rngsubtype from pg_catalog.pg_range r where t.oid in (r.rngtypid, r.rngmultitypid)
        union all select a.atttypid from pg_catalog.pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0) m (type))
select h.relid, h.type::regtype as type from hashed h join pg_catalog.pg_type t on t.oid = h.type
where t.typtype in ('e', 'p') or t.typnamespace = 'pg_catalog'::regnamespace and t.typname like 'reg%'
