-- Functions are for PostgreSQL: nothing to make.

DO 0;
