-- Finds the tokens of commits (CN_COMMITS) and the requests (CN_REQUESTS) that have been kept long
-- enough, a page at a time, however many there are. {p} is the table prefix, {i} the prefix without
-- a schema, {s} the schema. The indexes are looked for first: the server commits at once, so they
-- may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_C_M ON {p}CN_COMMITS (SCHED_NAME, MADE_MS)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}CN_COMMITS' AND index_name = 'IDX_{i}CN_C_M');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_Q_M ON {p}CN_REQUESTS (SCHED_NAME, MADE_MS)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}CN_REQUESTS' AND index_name = 'IDX_{i}CN_Q_M');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
