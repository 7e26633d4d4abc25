package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

const (
	// readBytes is how many bytes of payload one Read returns before it stops
	// short of its limit.
	readBytes = 8 << 20
	// pollEvery is how often a file that another process owns is looked at.
	pollEvery = 50 * time.Millisecond
)

const selectCommits = `SELECT seq, stored_at, tenant, aggregate, id, version, commit_id, request,
	correlation, causation, decided_at, types, format, header, payload, crc FROM wow_commits `

// commits reads rows and requires each to follow the one before.
func commits(c *conn, next func(*store.Commit) error, query string, args ...any) error {
	var row frame.Row
	return c.each(query, func(column []driver.Value) error {
		row.Seq, row.StoredAt = integer(column[0]), integer(column[1])
		row.Target = wow.Target{Tenant: text(column[2]), Aggregate: text(column[3]), ID: text(column[4])}
		row.Version, row.Commit, row.Request = integer(column[5]), text(column[6]), text(column[7])
		row.Correlation, row.Causation, row.DecidedAt = text(column[8]), text(column[9]), integer(column[10])
		row.Types, row.Format = text(column[11]), uint8(integer(column[12]))
		row.Header, row.Payload, row.Sum = blob(column[13]), blob(column[14]), uint32(integer(column[15]))
		commit, err := row.Decode()
		if err != nil {
			return err
		}
		return next(commit)
	}, args...)
}

// hole is the error of a history that lacks a commit.
func hole(what string, want, got int64) error {
	return fmt.Errorf("%w: %s %d is missing, %d follows", frame.ErrCorrupt, what, want, got)
}

// Stream implements store.Log.
func (s *Store) Stream(ctx context.Context, t wow.Target, after int64, limit int) ([]*store.Commit, error) {
	var found []*store.Commit
	after = max(after, 0)
	err := s.read(ctx, "reading a stream from", func(c *conn) error {
		if limit <= 0 {
			return nil
		}
		return commits(c, func(commit *store.Commit) error {
			if after++; commit.Version != after {
				return hole(t.String()+" version", after, commit.Version)
			}
			found = append(found, commit)
			return nil
		}, selectCommits+`WHERE stream = (SELECT stream FROM wow_streams WHERE id = ? AND aggregate = ? AND tenant = ?)
			AND version > ? ORDER BY version LIMIT ?`, t.ID, t.Aggregate, t.Tenant, after, int64(limit))
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

var errEnough = errors.New("sqlite: enough was read")

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after wow.Position, limit int) ([]*store.Commit, error) {
	if err := checkShard(after.Shard); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	seq := max(after.Seq, 0)
	if limit <= 0 || s.Sole() && seq >= s.head.Load() {
		return nil, nil
	}
	var found []*store.Commit
	size := 0
	err := s.read(ctx, "reading the log from", func(c *conn) error {
		err := commits(c, func(commit *store.Commit) error {
			if seq++; commit.Position.Seq != seq {
				return hole("position", seq, commit.Position.Seq)
			}
			found = append(found, commit)
			for i := range commit.Events {
				size += len(commit.Events[i].Data)
			}
			if size >= readBytes {
				return errEnough
			}
			return nil
		}, selectCommits+"WHERE seq > ? ORDER BY seq LIMIT ?", seq, int64(limit))
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Head implements store.Log.
func (s *Store) Head(ctx context.Context, shard int32) (wow.Position, error) {
	if err := checkShard(shard); err != nil {
		return wow.Position{}, err
	}
	if err := s.usable(ctx); err != nil {
		return wow.Position{}, err
	}
	if !s.Sole() {
		if err := s.read(ctx, "reading the head of", s.look); err != nil {
			return wow.Position{}, err
		}
	}
	return position(s.head.Load()), nil
}

// Wait implements store.Log.
func (s *Store) Wait(ctx context.Context, after wow.Position) error {
	if err := checkShard(after.Shard); err != nil {
		return err
	}
	ready := func() (bool, error) { return s.head.Load() > after.Seq, s.usable(ctx) }
	if s.Sole() {
		return s.bell.Wait(ctx, ready)
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		if _, err := s.Head(ctx, 0); err != nil {
			return err
		}
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-s.shutDown:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
