-- The function that stored new work was made here: 0027_scheduling makes it.

SELECT 0;
