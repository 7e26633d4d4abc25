-- Version 1 of the tables. A released version is never changed, only followed.
--
-- Keys compare by bytes (COLLATE "C"): the same everywhere, whatever the
-- database's locale. All times are microseconds UTC.

CREATE TABLE wow_commits (
	shard       integer  NOT NULL,
	seq         bigint   NOT NULL, -- the position, without gaps within a shard
	tenant      text     COLLATE "C" NOT NULL,
	aggregate   text     COLLATE "C" NOT NULL,
	id          text     COLLATE "C" NOT NULL,
	version     bigint   NOT NULL,
	commit_id   text     COLLATE "C" NOT NULL,
	request     text     COLLATE "C",
	correlation text     COLLATE "C" NOT NULL,
	causation   text     COLLATE "C" NOT NULL,
	decided_at  bigint   NOT NULL,
	stored_at   bigint   NOT NULL,
	types       text     COLLATE "C" NOT NULL, -- names of the events, one a line
	format      smallint NOT NULL,
	header      bytea    NOT NULL,
	payload     bytea    NOT NULL,
	crc         bigint   NOT NULL,
	PRIMARY KEY (shard, seq)
);
CREATE UNIQUE INDEX wow_commits_version ON wow_commits (id, aggregate, tenant, version);
-- Requests come first: IDs that rise with time then fill the index in order.
CREATE UNIQUE INDEX wow_commits_request ON wow_commits (request, id, aggregate, tenant) WHERE request IS NOT NULL;

CREATE TABLE wow_outcomes ( -- of requests that appended nothing
	request   text   COLLATE "C" NOT NULL,
	id        text   COLLATE "C" NOT NULL,
	aggregate text   COLLATE "C" NOT NULL,
	tenant    text   COLLATE "C" NOT NULL,
	kind      smallint NOT NULL,
	version   bigint NOT NULL,
	code      bytea  NOT NULL, -- bytes: what a domain says need not be valid text
	message   bytea  NOT NULL,
	at        bigint NOT NULL,
	kept_at   bigint NOT NULL,
	PRIMARY KEY (request, id, aggregate, tenant)
);
CREATE INDEX wow_outcomes_kept ON wow_outcomes (kept_at);

CREATE TABLE wow_snapshots (
	id        text     COLLATE "C" NOT NULL,
	aggregate text     COLLATE "C" NOT NULL,
	tenant    text     COLLATE "C" NOT NULL,
	revision  text     COLLATE "C" NOT NULL,
	version   bigint   NOT NULL,
	commit_id text     COLLATE "C" NOT NULL,
	codec     smallint NOT NULL,
	data      bytea    NOT NULL,
	crc       bigint   NOT NULL,
	PRIMARY KEY (id, aggregate, tenant, revision, version)
);

CREATE TABLE wow_checkpoints (
	consumer text    COLLATE "C" NOT NULL,
	shard    integer NOT NULL,
	segment  integer NOT NULL,
	epoch    bigint  NOT NULL,
	seq      bigint  NOT NULL,
	PRIMARY KEY (consumer, shard, segment)
);

CREATE TABLE wow_parked (
	consumer  text    COLLATE "C" NOT NULL,
	shard     integer NOT NULL,
	seq       bigint  NOT NULL,
	function  text    COLLATE "C" NOT NULL,
	tenant    text    COLLATE "C" NOT NULL,
	aggregate text    COLLATE "C" NOT NULL,
	id        text    COLLATE "C" NOT NULL,
	error     bytea   NOT NULL,
	attempts  integer NOT NULL,
	at        bigint  NOT NULL,
	running   boolean NOT NULL,
	PRIMARY KEY (consumer, shard, seq, function)
);

-- wow_enter begins whatever must be alone in a shard: an append, or a decision
-- to remember. The lock lasts until the transaction is over and visible, and
-- no client can stall while it holds it, for the transaction is one statement.
CREATE FUNCTION wow_enter(lock bigint, lock_timeout text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'wow needs the isolation level read committed, this transaction has %',
			current_setting('transaction_isolation') USING ERRCODE = 'invalid_transaction_state';
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
	PERFORM set_config('lock_timeout', lock_timeout, true);
	PERFORM pg_advisory_xact_lock(lock);
END $$;

-- wow_append_1 appends a batch to a shard. Entry i gets position last_seq + i,
-- and all get the time stored. The statements behind wow_enter see all that was
-- committed before the lock was given.
--
-- An entry that must not be stored undoes the batch, with an error: a unique
-- index, or WOW01 for a version without the one before it (which only the
-- entries in firsts can have) or a request with an outcome (which only those in
-- asks can have). The client then finds out which it was.
CREATE FUNCTION wow_append_1(lock bigint, lock_timeout text, in_shard integer, firsts integer[], asks integer[],
	tenants text[], aggregates text[], ids text[], versions bigint[], commits text[], requests text[],
	correlations text[], causations text[], decided bigint[], types text[], formats smallint[],
	headers bytea[], payloads bytea[], crcs bigint[],
	OUT last_seq bigint, OUT stored bigint) LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
	PERFORM wow_enter(lock, lock_timeout);
	SELECT c.seq, c.stored_at INTO last_seq, stored FROM wow_commits c WHERE c.shard = in_shard ORDER BY c.seq DESC LIMIT 1;
	last_seq := coalesce(last_seq, 0);
	stored := greatest(stored, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
	IF cardinality(firsts) > 0 AND EXISTS (SELECT FROM unnest(firsts) i WHERE NOT EXISTS (SELECT FROM wow_commits c
		WHERE c.id = ids[i] AND c.aggregate = aggregates[i] AND c.tenant = tenants[i] AND c.version = versions[i] - 1))
	THEN
		RAISE EXCEPTION 'a version has none before it' USING ERRCODE = 'WOW01';
	END IF;
	IF cardinality(asks) > 0 AND EXISTS (SELECT FROM unnest(asks) i CROSS JOIN LATERAL (SELECT FROM wow_outcomes o
		WHERE o.request = requests[i] AND o.id = ids[i] AND o.aggregate = aggregates[i] AND o.tenant = tenants[i] LIMIT 1) o)
	THEN
		RAISE EXCEPTION 'a request has an outcome' USING ERRCODE = 'WOW01';
	END IF;
	INSERT INTO wow_commits (shard, seq, tenant, aggregate, id, version, commit_id, request, correlation, causation,
		decided_at, stored_at, types, format, header, payload, crc)
	SELECT in_shard, last_seq + e.i, e.tenant, e.aggregate, e.id, e.version, e.commit, nullif(e.request, ''), e.correlation,
		e.causation, e.decided, stored, e.types, e.format, e.header, e.payload, e.crc
	FROM unnest(tenants, aggregates, ids, versions, commits, requests, correlations, causations, decided, types, formats,
		headers, payloads, crcs)
		WITH ORDINALITY AS e (tenant, aggregate, id, version, commit, request, correlation, causation, decided, types, format,
		header, payload, crc, i);
END $$;

-- wow_look_1 says what is known about streams and requests: the head of each
-- stream, the commit of its version, and what its request came to.
CREATE FUNCTION wow_look_1(tenants text[], aggregates text[], ids text[], versions bigint[], requests text[])
RETURNS TABLE (head bigint, -- of the stream
	v_shard integer, v_seq bigint, v_commit text, v_stored bigint, -- the commit of the version
	r_shard integer, r_seq bigint, r_commit text, r_stored bigint, r_version bigint, r_decided bigint, -- of the request
	kind smallint, version bigint, code bytea, message bytea, at bigint) -- its outcome, if it appended nothing
LANGUAGE sql STABLE SET enable_seqscan = off AS $$
	SELECT coalesce((SELECT max(c.version) FROM wow_commits c WHERE c.id = e.id AND c.aggregate = e.aggregate AND c.tenant = e.tenant), 0),
		v.shard, v.seq, v.commit_id, v.stored_at, r.shard, r.seq, r.commit_id, r.stored_at, r.version, r.decided_at,
		o.kind, o.version, o.code, o.message, o.at
	FROM unnest(tenants, aggregates, ids, versions, requests) WITH ORDINALITY AS e (tenant, aggregate, id, version, request, i)
	LEFT JOIN LATERAL (SELECT * FROM wow_commits c WHERE c.id = e.id AND c.aggregate = e.aggregate AND c.tenant = e.tenant
		AND c.version = e.version LIMIT 1) v ON true
	LEFT JOIN LATERAL (SELECT * FROM wow_commits c WHERE c.request = nullif(e.request, '') AND c.id = e.id
		AND c.aggregate = e.aggregate AND c.tenant = e.tenant LIMIT 1) r ON true
	LEFT JOIN LATERAL (SELECT * FROM wow_outcomes o WHERE o.request = nullif(e.request, '') AND o.id = e.id
		AND o.aggregate = e.aggregate AND o.tenant = e.tenant LIMIT 1) o ON true
	ORDER BY e.i
$$;

-- wow_keep_1 is wow_look_1 for decisions made on versions, alone in their
-- shard, and keeps the outcomes in keep: of decisions that are not stale and
-- whose requests have none. No request comes twice.
CREATE FUNCTION wow_keep_1(lock bigint, lock_timeout text, keep integer[],
	tenants text[], aggregates text[], ids text[], versions bigint[], requests text[],
	kinds smallint[], codes bytea[], messages bytea[], ats bigint[])
RETURNS TABLE (head bigint, v_shard integer, v_seq bigint, v_commit text, v_stored bigint,
	r_shard integer, r_seq bigint, r_commit text, r_stored bigint, r_version bigint, r_decided bigint,
	kind smallint, version bigint, code bytea, message bytea, at bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
	PERFORM wow_enter(lock, lock_timeout);
	RETURN QUERY SELECT * FROM wow_look_1(tenants, aggregates, ids, versions, requests);
	INSERT INTO wow_outcomes (request, id, aggregate, tenant, kind, version, code, message, at, kept_at)
	SELECT requests[k.i], ids[k.i], aggregates[k.i], tenants[k.i], kinds[k.i], versions[k.i], codes[k.i], messages[k.i], ats[k.i],
		(extract(epoch FROM clock_timestamp()) * 1000000)::bigint
	FROM unnest(keep) k (i)
	WHERE versions[k.i] = coalesce((SELECT max(c.version) FROM wow_commits c
			WHERE c.id = ids[k.i] AND c.aggregate = aggregates[k.i] AND c.tenant = tenants[k.i]), 0)
		AND NOT EXISTS (SELECT FROM wow_commits c
			WHERE c.request = requests[k.i] AND c.id = ids[k.i] AND c.aggregate = aggregates[k.i] AND c.tenant = tenants[k.i])
	ON CONFLICT DO NOTHING;
END $$;
