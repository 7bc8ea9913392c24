-- The function that stored new work was made here: 0044_scheduling makes it.

SELECT 0;
