-- There are no indexes of some rows only: nothing was made.

DO 0;
