-- Generators that were leased go on by themselves: behind what was told here, and those of columns behind all values there. Also in a dump that was restored.
set local session_replication_role to replica;
do $$
begin
    if to_regclass('gorda.generator') is null then
        return;
    end if;
    if exists (select from gorda.generator) then
        perform gorda.unbind_all();
        perform gorda.forget();
    end if;
end $$;
-- Leaves no trace: the triggers go with their functions.
drop schema if exists gorda cascade;
