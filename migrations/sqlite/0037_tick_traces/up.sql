-- The trace that a part of a tick belonged to (CN_TICK_PARTS), for the child of the whole tick:
-- NULL where there was none. {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_TICK_PARTS ADD COLUMN TRACEPARENT TEXT;
