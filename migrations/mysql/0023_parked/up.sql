-- Work that is set aside (CN_PARKED): its trigger waits in ERROR, and the row says why; and how often in a row dead work was
-- taken over.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema.
-- It is looked for first: the server commits at once, so it may be there while the version is not noted.

CREATE TABLE IF NOT EXISTS {p}CN_PARKED (
    SCHED_NAME VARCHAR(120) NOT NULL,
    TRIGGER_NAME VARCHAR(190) NOT NULL,
    TRIGGER_GROUP VARCHAR(190) NOT NULL,
    FIRE_ID VARCHAR(95) NULL,
    REASON TEXT NOT NULL,
    TAKEOVERS BIGINT NOT NULL,
    SINCE_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {p}CN_RECOVERIES ADD COLUMN TAKEOVERS BIGINT NOT NULL DEFAULT 0')
    FROM information_schema.columns
    WHERE table_schema = {s} AND table_name = '{i}CN_RECOVERIES' AND column_name = 'TAKEOVERS');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
