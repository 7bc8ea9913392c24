-- Triggers that recur by a rule of iCalendar, a kind that Quartz does not have. Their misfire instruction stands here: in
-- TRIGGERS it is null, so that a Java node neither takes them nor handles their misfires.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_RECURRENCES (
    SCHED_NAME VARCHAR(120) NOT NULL,
    TRIGGER_NAME VARCHAR(200) NOT NULL,
    TRIGGER_GROUP VARCHAR(200) NOT NULL,
    RULE VARCHAR(2000) NOT NULL,
    TIME_ZONE_ID VARCHAR(80) NOT NULL,
    MISFIRE_INSTR SMALLINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP)
);
