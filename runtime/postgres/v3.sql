ALTER TABLE wow_checkpoints ADD COLUMN owner text NOT NULL DEFAULT '';
ALTER TABLE wow_checkpoints ADD COLUMN until timestamptz NOT NULL DEFAULT '-infinity';

CREATE TABLE wow_owners ( -- the processes that are alive
	owner text COLLATE "C" PRIMARY KEY,
	until timestamptz NOT NULL
);

-- wow_claim_1 registers a process, renews its segments and takes free ones, up
-- to a number. It answers for each segment, in order, with the number of
-- processes.
CREATE FUNCTION wow_claim_1(me text, ttl interval, consumers text[], shards integer[], segments integer[], take integer)
RETURNS TABLE (alive bigint, holder text, lease bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	now_ timestamptz := clock_timestamp();
	living bigint;
	k record;
	had record;
BEGIN
	INSERT INTO wow_owners AS o (owner, until) VALUES (me, now_ + ttl)
	ON CONFLICT (owner) DO UPDATE SET until = excluded.until;
	DELETE FROM wow_owners WHERE owner IN (SELECT o.owner FROM wow_owners o WHERE o.until <= now_ FOR UPDATE SKIP LOCKED);
	SELECT count(*) INTO living FROM wow_owners WHERE until > now_;
	INSERT INTO wow_checkpoints (consumer, shard, segment, epoch, seq)
	SELECT s.consumer, s.shard, s.segment, 0, 0 FROM unnest(consumers, shards, segments) AS s (consumer, shard, segment)
	ORDER BY 1, 2, 3
	ON CONFLICT DO NOTHING;
	-- The rows are locked in one order, whoever asks.
	PERFORM FROM wow_checkpoints c
	WHERE (c.consumer, c.shard, c.segment) IN (SELECT * FROM unnest(consumers, shards, segments))
	ORDER BY c.consumer, c.shard, c.segment FOR UPDATE;
	now_ := clock_timestamp();
	alive := living;
	FOR k IN SELECT s.consumer, s.shard, s.segment FROM unnest(consumers, shards, segments)
		WITH ORDINALITY AS s (consumer, shard, segment, i) ORDER BY s.i
	LOOP
		SELECT c.owner, c.until, c.epoch INTO had FROM wow_checkpoints c
		WHERE c.consumer = k.consumer AND c.shard = k.shard AND c.segment = k.segment;
		holder := had.owner;
		lease := had.epoch;
		IF had.owner <> me AND (had.owner = '' OR had.until <= now_) THEN
			holder := '';
			IF take > 0 THEN
				take := take - 1;
				holder := me;
				lease := had.epoch + 1;
			END IF;
		END IF;
		IF holder = me THEN
			UPDATE wow_checkpoints c SET owner = me, until = now_ + ttl, epoch = lease
			WHERE c.consumer = k.consumer AND c.shard = k.shard AND c.segment = k.segment;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
