package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
)

// parkModel says what one aggregate of one consumer should see: effects in
// order, and rows "seq function" that are parked.
type parkModel struct {
	broken  map[string]bool
	commits [][]string // functions of the steps, by seq-1
	rows    []modelRow
	effects []string
}

type modelRow struct {
	seq      int
	function string
}

var modelOrders = map[string]Order{"on_added": OrderAggregate, "on_removed": OrderFunction, "on_label": OrderSkip}

func (m *parkModel) waits(seq int, f string) bool {
	return modelOrders[f] == OrderFunction && slices.ContainsFunc(m.rows, func(r modelRow) bool { return r.function == f && r.seq < seq })
}

// run runs steps from one on, of one function or of all. It reports whether the
// rest of the commit is parked too.
func (m *parkModel) run(seq, from int, only string) (rows []modelRow, stopped bool) {
	for i, f := range m.commits[seq-1][from:] {
		switch {
		case only != "" && f != only:
			continue
		case slices.Contains(rows, modelRow{seq, f}):
			continue // one row holds all steps of a function
		case !m.waits(seq, f) && !m.broken[f]:
			m.effects = append(m.effects, fmt.Sprintf("%d/%d", seq, from+i))
			continue
		}
		rows = append(rows, modelRow{seq, f})
		if only != "" || modelOrders[f] == OrderAggregate {
			return rows, modelOrders[f] == OrderAggregate
		}
	}
	return rows, false
}

func (m *parkModel) deliver(functions []string) {
	m.commits = append(m.commits, functions)
	seq := len(m.commits)
	if slices.ContainsFunc(m.rows, func(r modelRow) bool { return r.function == "" || modelOrders[r.function] == OrderAggregate }) {
		m.rows = append(m.rows, modelRow{seq, ""})
		return
	}
	rows, _ := m.run(seq, 0, "")
	m.add(rows)
}

func (m *parkModel) add(rows []modelRow) {
	for _, r := range rows {
		if !slices.Contains(m.rows, r) {
			m.rows = append(m.rows, r)
		}
	}
	slices.SortFunc(m.rows, func(a, b modelRow) int {
		if a.seq != b.seq {
			return a.seq - b.seq
		}
		return strings.Compare(a.function, b.function)
	})
}

func (m *parkModel) retry() {
	for _, r := range slices.Clone(m.rows) {
		from, only := 0, ""
		if r.function != "" {
			from = slices.Index(m.commits[r.seq-1], r.function)
			if modelOrders[r.function] != OrderAggregate {
				only = r.function
			}
		}
		rows, stopped := m.run(r.seq, from, only)
		if !slices.Contains(rows, r) {
			m.rows = slices.DeleteFunc(m.rows, func(x modelRow) bool { return x == r })
		}
		if m.add(rows); stopped {
			return
		}
	}
}

// TestParkingKeepsTheOrderThatEachFunctionDeclares runs the real consumer
// against the model: random commits, failures, retries, skips and restarts.
func TestParkingKeepsTheOrderThatEachFunctionDeclares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := memory.New()
		defer s.Close()
		m := &parkModel{broken: map[string]bool{}}
		var effects []string
		names := map[string]wow.DomainEvent{"on_added": tallyAdded{1}, "on_removed": tallyRemoved{1}, "on_label": tallyLabel{"x"}}
		p := Projection{Name: "test.projection.p", Functions: []Function{
			{Name: "on_added", Event: &tallyAddedType, Retry: Retry{Max: -1}},
			{Name: "on_removed", Event: &tallyRemovedType, Retry: Retry{Max: -1, Order: OrderFunction}},
			{Name: "on_label", Event: &tallyLabelType, Retry: Retry{Max: -1, Order: OrderSkip}},
		}, OnEvent: func(_ context.Context, in *Recorded, _ *Reaction) error {
			if m.broken["on_"+in.Event.WowEvent().Name] {
				return errBroken
			}
			effects = append(effects, fmt.Sprintf("%d/%d", in.Position.Seq, in.Index))
			return nil
		}}
		b := started(t, s, only(p))
		defer func() { b.stop() }()
		sampled := rapid.SampledFrom([]string{"on_added", "on_removed", "on_label"})
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				functions := rapid.SliceOfN(sampled, 1, 3).Draw(rt, "functions")
				var events []wow.DomainEvent
				for _, f := range functions {
					events = append(events, names[f])
				}
				b.append("a", events...)
				b.settled(p.Name)
				m.deliver(functions)
			},
			"break or mend": func(rt *rapid.T) {
				f := sampled.Draw(rt, "function")
				m.broken[f] = !m.broken[f]
			},
			"retry": func(rt *rapid.T) {
				failed := (Consumer{b.cs.all[0]}).Retry(context.Background(), tallyTarget("a")) != nil
				if m.retry(); failed != (len(m.rows) > 0) && len(m.rows) == 0 {
					rt.Fatalf("retry failed = %t, %d rows are left", failed, len(m.rows))
				}
			},
			"skip": func(rt *rapid.T) {
				if len(m.rows) == 0 {
					rt.Skip("nothing is parked")
				}
				seq := rapid.SampledFrom(m.rows).Draw(rt, "row").seq
				if err := (Consumer{b.cs.all[0]}).Skip(context.Background(), tallyTarget("a"), wow.Position{Seq: int64(seq)}); err != nil {
					rt.Fatal(err)
				}
				m.rows = slices.DeleteFunc(m.rows, func(r modelRow) bool { return r.seq == seq })
			},
			"restart": func(*rapid.T) {
				b.stop()
				b = started(t, s, only(p))
			},
			"": func(rt *rapid.T) {
				if !slices.Equal(effects, m.effects) {
					rt.Fatalf("effects %v, want %v", effects, m.effects)
				}
				var rows []modelRow
				list, _ := s.Parked(context.Background(), p.Name, tallyTarget("a"), wow.Position{}, 1<<20)
				for _, r := range list {
					rows = append(rows, modelRow{int(r.Commit.Position.Seq), r.Function})
				}
				if !slices.Equal(rows, m.rows) || b.cs.all[0].blocks.count.Load() != int64(len(rows)) {
					rt.Fatalf("parked %v (%d blocks), want %v", rows, b.cs.all[0].blocks.count.Load(), m.rows)
				}
			},
		})
	})
}
