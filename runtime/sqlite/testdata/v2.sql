CREATE TABLE wow_meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE wow_commits (
	seq         INTEGER PRIMARY KEY, -- the position, without gaps
	stream      INTEGER NOT NULL,    -- in wow_streams; a short name for the three that follow
	tenant      TEXT    NOT NULL,
	aggregate   TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	commit_id   TEXT    NOT NULL,
	request     TEXT,
	correlation TEXT    NOT NULL,
	causation   TEXT    NOT NULL,
	decided_at  INTEGER NOT NULL,    -- microseconds UTC, as are all times
	stored_at   INTEGER NOT NULL,
	types       TEXT    NOT NULL,    -- names of the events, one a line
	format      INTEGER NOT NULL,
	header      BLOB    NOT NULL,
	payload     BLOB    NOT NULL,
	crc         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_commits_version ON wow_commits (stream, version);
CREATE UNIQUE INDEX wow_commits_request ON wow_commits (request, stream) WHERE request IS NOT NULL;
CREATE TABLE wow_streams (
	stream    INTEGER PRIMARY KEY,
	tenant    TEXT NOT NULL,
	aggregate TEXT NOT NULL,
	id        TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_streams_key ON wow_streams (id, aggregate, tenant);
CREATE TABLE wow_outcomes ( -- of requests that appended nothing
	stream  INTEGER NOT NULL,
	request TEXT    NOT NULL,
	kind    INTEGER NOT NULL,
	version INTEGER NOT NULL,
	code    BLOB    NOT NULL, -- bytes: what a domain says need not be valid text
	message BLOB    NOT NULL,
	at      INTEGER NOT NULL,
	kept_at INTEGER NOT NULL,
	PRIMARY KEY (stream, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX wow_outcomes_kept ON wow_outcomes (kept_at);
CREATE TABLE wow_snapshots (
	snapshot  INTEGER PRIMARY KEY,
	tenant    TEXT    NOT NULL,
	aggregate TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	revision  TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	commit_id TEXT    NOT NULL,
	codec     INTEGER NOT NULL,
	data      BLOB    NOT NULL,
	crc       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wow_snapshots_key ON wow_snapshots (id, aggregate, tenant, revision, version);
CREATE TABLE wow_checkpoints (
	consumer TEXT    NOT NULL,
	shard    INTEGER NOT NULL,
	segment  INTEGER NOT NULL,
	epoch    INTEGER NOT NULL,
	seq      INTEGER NOT NULL,
	PRIMARY KEY (consumer, shard, segment)
) STRICT, WITHOUT ROWID;
CREATE TABLE wow_parked (
	consumer  TEXT    NOT NULL,
	shard     INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	function  TEXT    NOT NULL,
	tenant    TEXT    NOT NULL,
	aggregate TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	error     BLOB    NOT NULL,
	attempts  INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	running   INTEGER NOT NULL,
	PRIMARY KEY (consumer, shard, seq, function)
) STRICT, WITHOUT ROWID;
CREATE TABLE wow_timers (
	consumer TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	shard    INTEGER NOT NULL, -- where it was set, and in what order there
	seq      INTEGER NOT NULL,
	ordinal  INTEGER NOT NULL,
	due      INTEGER NOT NULL, -- 0: done or taken back
	attempts INTEGER NOT NULL,
	data     BLOB    NOT NULL,
	PRIMARY KEY (consumer, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX wow_timers_due ON wow_timers (consumer, due);
INSERT INTO wow_meta VALUES ('identity', '3c5e7a4e-0000-4000-8000-000000000000');
INSERT INTO wow_meta VALUES ('version', 2);
INSERT INTO wow_meta VALUES ('writers', 1);
INSERT INTO wow_commits VALUES (1, 1, '', 'shop.cart', 'a', 1, '0198e0c4-7f00-7000-8000-000000000001', NULL, '', '', 1700000000000001, 1700000000000010, 'item_added', 1, X'00', X'011b0001000a6974656d5f6164646564007b22534b55223a227331227d', 4160448522);
INSERT INTO wow_commits VALUES (2, 2, 'acme', 'shop.order', 'ö/1', 1, '0198e0c4-7f00-7000-8000-000000000002', 'r1', 'co', 'ca', 1700000000000002, 1700000000000020, 'placed
paid', 1, X'020102000001080475736572616461', X'020d00020206706c616365640000ff0b0001000470616964007b7d', 3252187158);
INSERT INTO wow_streams VALUES (1, '', 'shop.cart', 'a');
INSERT INTO wow_streams VALUES (2, 'acme', 'shop.order', 'ö/1');
INSERT INTO wow_outcomes VALUES (1, 'r9', 3, 1, X'636172745f66756c6c', X'6e6f00726f6f6d', 9, 4102444800000000);
INSERT INTO wow_snapshots VALUES (1, '', 'shop.cart', 'a', 'rev1', 1, '0198e0c4-7f00-7000-8000-000000000001', 1, X'7374617465', 765814170);
INSERT INTO wow_checkpoints VALUES ('shop.projection.cart_view', 0, 0, 4, 1);
INSERT INTO wow_parked VALUES ('shop.processor.receipts', 0, 2, 'paid', 'acme', 'shop.order', 'ö/1', X'626f6f6d', 3, 7, 0);
INSERT INTO wow_timers VALUES ('shop.saga.payment', 'pay ö/1', 0, 2, 1, 11, 2, X'00ff');
