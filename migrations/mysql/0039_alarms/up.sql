-- The alarms that a node has raised, by their words (CN_NODES). {p} is the table prefix, {i} the
-- prefix without a schema, {s} the schema. The column is looked for first: the server commits at
-- once, so it may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {p}CN_NODES ADD COLUMN ALARMS VARCHAR(250) NOT NULL DEFAULT ''''')
    FROM information_schema.columns
    WHERE table_schema = {s} AND table_name = '{i}CN_NODES' AND column_name = 'ALARMS');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
