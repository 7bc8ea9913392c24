-- Functions are for PostgreSQL: nothing was made.

SELECT 0;
