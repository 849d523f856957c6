-- Leaves no trace: the triggers go with their functions.
drop schema if exists gorda cascade;
