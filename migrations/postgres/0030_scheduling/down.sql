-- Nothing was made.

SELECT 0;
