-- Makes what up.sql dropped. {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}FT_INST ON {p}FIRED_TRIGGERS (INSTANCE_NAME);
