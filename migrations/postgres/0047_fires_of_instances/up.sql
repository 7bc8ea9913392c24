-- Drops the index of fires by their nodes, into which each fire was written: the fires of one node
-- are read when it starts, when it has failed, and with an audit, and each check-in goes through
-- those of all nodes anyway. Tables of Quartz have other indexes, which stay.
-- {p} is the table prefix, {i} the prefix without a schema, {q} the schema with its dot.

DROP INDEX IF EXISTS {q}IDX_{i}FT_INST;
