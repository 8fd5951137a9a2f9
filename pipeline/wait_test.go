package pipeline

import (
	"testing"
	"time"

	"example.com/leafhopper/barrier"
)

// slow is a program of one item: a copy that takes a while, then two slabs that
// take longer.
type slow struct{ load, compute time.Duration }

func (p slow) Expect(item, cta int) int { return 1 }
func (p slow) Load(stage, item, cta, job int, bars []barrier.Barrier) {
	time.Sleep(p.load)
	bars[0].CompleteTx(1)
}
func (p slow) LoadMulticast(stage, item, job int, bars []barrier.Barrier) {}
func (p slow) Compute(stage, item, cta, slab int)                         { time.Sleep(p.compute) }

// TestWaitIsNotWork has a worker wait for a slot and then compute for longer: only
// the one is waiting.
func TestWaitIsNotWork(t *testing.T) {
	p := slow{load: 150 * time.Millisecond, compute: 400 * time.Millisecond}
	var g Grid
	if err := g.Reset(t.Context(), Shape{Depth: 1, Items: 1, CTAs: 1, Slabs: 2, Private: 1}, p, 2); err != nil {
		t.Fatal(err)
	}
	c := NewCrew(1)
	c.Run(&g, 2)
	c.Close()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	s := g.Stats()
	if got := s.ConsumerWait + s.ProducerWait; got < p.load/10 || got >= p.compute {
		t.Errorf("%+v: want a wait of about %v", s, p.load)
	}
	if s.Copy < p.load || s.Copy >= p.compute {
		t.Errorf("%+v: want a copy of about %v", s, p.load)
	}
}
