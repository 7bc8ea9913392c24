-- The function that stored new work was made here: 0030_scheduling makes it.

SELECT 0;
