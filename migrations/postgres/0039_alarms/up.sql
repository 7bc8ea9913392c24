-- The alarms that a node has raised, by their words (CN_NODES). {p} is the table prefix, {i} the
-- prefix without a schema.

ALTER TABLE {p}CN_NODES ADD COLUMN IF NOT EXISTS ALARMS VARCHAR(250) NOT NULL DEFAULT '';
