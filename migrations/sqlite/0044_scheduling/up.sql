-- Functions are for PostgreSQL: nothing to make.

SELECT 0;
