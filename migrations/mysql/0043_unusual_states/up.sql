-- There are no indexes of some rows only: nothing to make.

DO 0;
