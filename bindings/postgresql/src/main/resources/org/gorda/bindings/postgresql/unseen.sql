-- Settings of roles and of the database by which changes escape the triggers that tell of them.
select r.rolname, s.setrole, s.setdatabase, c.setting
from pg_catalog.pg_db_role_setting s cross join unnest(s.setconfig) c (setting) left join pg_catalog.pg_roles r on r.oid = s.setrole
where s.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
    and c.setting ~* '^(session_replication_role=replica|event_triggers=(of|f|n|0))'
