-- The trace that a part of a tick belonged to (CN_TICK_PARTS), for the child of the whole tick:
-- NULL where there was none. {p} is the table prefix, {i} the prefix without a schema, {s} the
-- schema. The column is looked for first: the server commits at once, so it may be there while the
-- version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {p}CN_TICK_PARTS ADD COLUMN TRACEPARENT VARCHAR(200)')
    FROM information_schema.columns
    WHERE table_schema = {s} AND table_name = '{i}CN_TICK_PARTS' AND column_name = 'TRACEPARENT');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
