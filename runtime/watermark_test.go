package runtime

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/wowgen/wow"
)

// TestWatermarkIsTheHighestPositionBelowWhichAllIsFinished runs the mark
// against a map of finished positions.
func TestWatermarkIsTheHighestPositionBelowWhichAllIsFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 3*markWindow).Draw(t, "start")
		var w watermark
		w.start(start)
		taken, finished := start, map[int64]bool{}
		told := map[int64]chan error{}
		waiting := false // the taker found no room
		low := func() int64 {
			at := start
			for finished[at+1] {
				at++
			}
			return at
		}
		open := func() (seqs []int64) {
			for seq := low() + 1; seq <= taken && len(seqs) < 400; seq++ {
				if !finished[seq] {
					seqs = append(seqs, seq)
				}
			}
			return seqs
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				want := rapid.IntRange(1, 700).Draw(t, "n")
				n := w.room(want)
				if model := min(int64(want), low()+markWindow-taken); int64(n) != model {
					t.Fatalf("room for %d of %d, want %d", n, want, model)
				}
				waiting = n == 0
				w.take(n)
				taken += int64(n)
			},
			"finish": func(t *rapid.T) {
				seqs := open()
				if len(seqs) == 0 {
					t.Skip("nothing is open")
				}
				seq := rapid.SampledFrom(seqs).Draw(t, "seq")
				before := low()
				finished[seq] = true
				moved, wake := w.finish(seq, nil)
				if moved != (low() != before) {
					t.Fatalf("finish %d: moved = %t, the mark went from %d to %d", seq, moved, before, low())
				}
				if want := waiting && moved && low()+markWindow-taken >= markWindow/16; wake != want {
					t.Fatalf("finish %d: wake = %t, want %t", seq, wake, want)
				}
				waiting = waiting && !wake
			},
			"finishTwice": func(t *rapid.T) {
				if moved, _ := w.finish(low(), nil); moved {
					t.Fatal("finishing a finished position moved the mark")
				}
			},
			"pass": func(t *rapid.T) {
				n := w.room(rapid.IntRange(1, 50).Draw(t, "n"))
				if waiting = n == 0; waiting {
					return
				}
				w.take(n)
				w.pass(taken+1, taken+int64(n))
				for range n {
					taken++
					finished[taken] = true
				}
			},
			"watch": func(t *rapid.T) {
				seq := rapid.Int64Range(max(1, low()-3), taken+20).Draw(t, "seq")
				to := make(chan error, 1)
				if is := seq <= low() || finished[seq]; w.watch(seq, to) == is {
					t.Fatalf("watching %d: finished = %t", seq, is)
				} else if !is && told[seq] == nil {
					told[seq] = to
				}
			},
			"": func(t *rapid.T) {
				if got := w.checkpoint(); got != low() {
					t.Fatalf("checkpoint %d, want %d", got, low())
				}
				for seq, to := range told {
					if finished[seq] != (len(to) == 1) {
						t.Fatalf("position %d: finished = %t, told = %t", seq, finished[seq], len(to) == 1)
					}
				}
			},
		})
		for _, seq := range open() {
			w.finish(seq, nil)
			finished[seq] = true
		}
		if len(open()) == 0 && w.checkpoint() != taken {
			t.Fatalf("all is finished, but the checkpoint is %d of %d", w.checkpoint(), taken)
		}
	})
}

func TestWatermarkTellsWaitersWhyAPositionIsFinished(t *testing.T) {
	var w watermark
	w.take(3)
	parked, gone, passed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	w.watch(2, parked)
	w.watch(2, gone)
	w.watch(3, passed)
	w.unwatch(2, gone)
	w.finish(2, wow.ErrParked)
	w.pass(3, 3)
	if err := <-parked; err != wow.ErrParked {
		t.Errorf("told %v, want %v", err, wow.ErrParked)
	}
	if err := <-passed; err != nil {
		t.Errorf("told %v, want nil", err)
	}
	if len(gone) != 0 || len(w.waits) != 0 {
		t.Errorf("somebody who left was told, or is still known: %d", len(w.waits))
	}
}

func BenchmarkWatermark(b *testing.B) {
	var w watermark
	b.ReportAllocs()
	for b.Loop() {
		w.take(1)
		w.finish(w.taken, nil)
	}
}
