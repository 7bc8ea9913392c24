-- Functions are for PostgreSQL: nothing was made.

DO 0;
