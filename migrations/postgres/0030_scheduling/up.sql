-- The function that stored new work was made here: 0041_scheduling makes it.

SELECT 0;
