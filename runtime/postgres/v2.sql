CREATE TABLE wow_timers (
	consumer text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,
	shard    integer NOT NULL, -- where it was set, and in what order there
	seq      bigint  NOT NULL,
	ordinal  bigint  NOT NULL,
	due      bigint  NOT NULL, -- 0: done or taken back
	attempts integer NOT NULL,
	data     bytea   NOT NULL,
	PRIMARY KEY (consumer, name)
);
CREATE INDEX wow_timers_due ON wow_timers (consumer, due);
