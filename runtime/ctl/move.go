package ctl

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

var export = command{
	name: "export", args: "[AGGREGATE/ID ...]", takes: [2]int{0, -1},
	summary: "Writes commits as JSON Lines, in the order of the history: all, or those of some aggregates.",
	help:    "It may run beside the app: it takes what the history holds as it begins.\n\nExample:\n  wowctl export > history.jsonl\n",
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		tenant := flags.String("tenant", "", "whose aggregates they are")
		return func(ctx context.Context, j *job) error {
			wanted := map[wow.Target]bool{}
			for _, a := range j.args {
				t, err := target(*tenant, a)
				if err != nil {
					return err
				}
				wanted[t] = true
			}
			out := bufio.NewWriterSize(j.out, 1<<16)
			err := j.each(ctx, func(c *store.Commit) error {
				if len(wanted) > 0 && !wanted[c.Target] {
					return nil
				}
				return writeLine(out, c)
			})
			return errors.Join(err, out.Flush())
		}
	},
}

var imports = command{
	name: "import", args: "FILE", takes: [2]int{1, 1},
	summary: "Appends the commits of a file that export wrote.",
	help: `The whole file is read and checked first, and every mistake in it told. Nothing
is overwritten: a commit that the store has is passed over, so an import that was
cut off is run again; another commit in its place is an error. Positions are the
store's own. Stop the app meanwhile.

Example:
  wowctl import history.jsonl
`,
	prepare: func(*flag.FlagSet) func(context.Context, *job) error {
		return func(ctx context.Context, j *job) error {
			total, err := check(j.args[0])
			if err != nil {
				return err
			}
			stored, had := 0, 0
			bar := newProgress(j.err, total)
			var batch []*store.Commit
			flush := func() error {
				n, h, err := j.append(ctx, batch)
				stored, had, batch = stored+n, had+h, nil // the store may keep the batch
				bar.tell(int64(stored + had))
				return err
			}
			err = lines(j.args[0], func(_ int, text []byte) error {
				c, err := readLine(text)
				if err != nil {
					return err
				}
				if batch = append(batch, c); len(batch) == page {
					return flush()
				}
				return nil
			})
			if err == nil {
				err = flush()
			}
			bar.end()
			fmt.Fprintf(j.out, "%d commits stored, %d were there already\n", stored, had)
			return err
		}
	},
}

// append stores commits, or finds that they are stored.
func (j *job) append(ctx context.Context, batch []*store.Commit) (stored, had int, err error) {
	if len(batch) == 0 {
		return 0, 0, nil
	}
	heads := map[wow.Target]int64{}
	for _, c := range batch {
		if _, seen := heads[c.Target]; !seen {
			heads[c.Target] = c.Version - 1
		}
	}
	for t, after := range heads { // what is there of each, from the batch's first on
		there, err := j.Store.Stream(ctx, t, after, len(batch))
		if err != nil {
			return stored, had, err
		}
		rest := batch[:0:0]
		for _, c := range batch {
			if c.Target != t || len(there) == 0 {
				rest = append(rest, c)
				continue
			}
			if there[0].ID != c.ID || there[0].Version != c.Version {
				return stored, had, fmt.Errorf("%s has another version %d than the file: commit %s, not %s; nothing of it was changed", t, c.Version, there[0].ID, c.ID)
			}
			there, had = there[1:], had+1
		}
		batch = rest
	}
	if len(batch) == 0 {
		return stored, had, nil
	}
	for i, r := range j.Store.Append(ctx, batch) {
		switch {
		case r.Status == store.Stored:
			stored++
		case r.Err != nil:
			return stored, had, fmt.Errorf("storing %s version %d: %w", batch[i].Target, batch[i].Version, r.Err)
		case r.Status == store.Conflict:
			return stored, had, fmt.Errorf("storing %s version %d: the store has version %d; the versions between are missing in the file", batch[i].Target, batch[i].Version, r.Head)
		default:
			return stored, had, fmt.Errorf("storing %s version %d: %v; its request has come to something else there", batch[i].Target, batch[i].Version, r.Status)
		}
	}
	return stored, had, nil
}

// maxMistakes is how many mistakes of a file are told.
const maxMistakes = 20

// check reads a whole file and returns how many commits it has, or all that is
// wrong with it.
func check(name string) (total int64, err error) {
	versions := map[wow.Target]int64{}
	var wrong []error
	more := 0
	err = lines(name, func(n int, text []byte) error {
		total++
		c, err := readLine(text)
		if err == nil {
			if last, seen := versions[c.Target]; seen && c.Version != last+1 {
				err = fmt.Errorf("%s goes on with version %d, want %d", c.Target, c.Version, last+1)
			}
			versions[c.Target] = c.Version
		}
		switch {
		case err == nil:
		case len(wrong) < maxMistakes:
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err))
		default:
			more++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if more > 0 {
		wrong = append(wrong, fmt.Errorf("and %d more", more))
	}
	if len(wrong) > 0 {
		return 0, fmt.Errorf("nothing was stored:\n%w", errors.Join(wrong...))
	}
	return total, nil
}

// maxLine is the longest line of a file: a commit at its limit, its bytes in
// base64, and room for the rest.
const maxLine = 2 * store.MaxCommit

// lines calls f for each line of a file that is not empty.
func lines(name string, f func(n int, text []byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(make([]byte, 1<<16), maxLine)
	n := 0
	for in.Scan() {
		n++
		if len(in.Bytes()) == 0 {
			continue
		}
		if err := f(n, in.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d bytes, and no commit is", name, n+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}

// backer is a store that can copy itself while it is used.
type backer interface {
	Backup(ctx context.Context, path string) error
}

var backup = command{
	name: "backup", args: "FILE", takes: [2]int{1, 1},
	summary: "Copies the whole store into a new file, while the app runs.",
	help: `For SQLite. A PostgreSQL history is backed up with pg_dump, like any database.
The file is a store: to restore it, stop the app and put it in the place of the
old one. See docs/guide/operations.md.

Example:
  wowctl backup shop-2026-12-01.db
`,
	prepare: func(*flag.FlagSet) func(context.Context, *job) error {
		return func(ctx context.Context, j *job) error {
			b, ok := j.Store.(backer)
			if !ok {
				return errors.New("this store cannot copy itself: use the database's own tools, for PostgreSQL pg_dump")
			}
			if _, err := os.Lstat(j.args[0]); err == nil {
				return fmt.Errorf("%s exists: name a new file", j.args[0])
			}
			if err := b.Backup(ctx, j.args[0]); err != nil {
				return err
			}
			fmt.Fprintf(j.out, "copied to %s\n", j.args[0])
			return nil
		}
	},
}
