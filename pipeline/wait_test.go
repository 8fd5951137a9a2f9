package pipeline

import (
	"testing"
	"time"
)

// TestWaitIsNotWork has a worker idle before it copies, and before it computes: it
// books the time when the piece begins, so that the piece does not count.
func TestWaitIsNotWork(t *testing.T) {
	s := Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: 1, Private: 1}
	prog := newRecorder(s)
	var g Grid
	if err := g.Reset(noContext, s, prog, 1); err != nil {
		t.Fatal(err)
	}
	w := worker{Grid: &g}
	w.begin(&g.team, 0)
	waited := func() time.Duration { return w.stats.ProducerWait + w.stats.ConsumerWait }
	pieces := 0
	prog.hook = func(piece string, _, _ int) {
		if piece == "Expect" {
			return // no work
		}
		if pieces++; w.idle != 0 || waited() < time.Duration(pieces)*time.Millisecond {
			t.Errorf("%s begins with %+v booked, want %d ms of waiting", piece, w.stats, pieces)
		}
	}
	for _, step := range []func() bool{func() bool { return w.issue() && w.copy() }, w.compute} {
		w.wait()
		time.Sleep(time.Millisecond)
		if !step() {
			t.Fatal("nothing to do")
		}
	}
	if pieces != 2 {
		t.Errorf("%d pieces, want a copy and a slab", pieces)
	}
	prog.check(t, "by hand", false)
}
