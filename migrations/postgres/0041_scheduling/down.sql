-- Nothing was made here: 0044_scheduling made the function.

SELECT 0;
