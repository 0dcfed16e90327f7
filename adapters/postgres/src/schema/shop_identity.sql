-- The cluster and the database that the tables were made in, or were last used in. If they differ, the tables were copied
-- from another database, and a new epoch begins. Null until the first start of a program that knows this column.
alter table shop add column database_identity text;
