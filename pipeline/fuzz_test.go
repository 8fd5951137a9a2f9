package pipeline

import (
	"context"
	"sync"
	"testing"
)

// FuzzGrid runs grids of any small shape, some of them invalid. Bit i of late
// keeps worker i away; worker 0 always comes.
func FuzzGrid(f *testing.F) {
	f.Add(uint8(1), uint8(0), uint8(1), uint8(1), uint8(0), uint8(0), uint8(1), uint8(0))
	f.Add(uint8(16), uint8(5), uint8(2), uint8(3), uint8(2), uint8(1), uint8(4), uint8(0))
	f.Add(uint8(2), uint8(40), uint8(3), uint8(1), uint8(0), uint8(4), uint8(8), uint8(0xf6))
	f.Add(uint8(1), uint8(1), uint8(1), uint8(8), uint8(0), uint8(0), uint8(4), uint8(4))
	f.Add(uint8(17), uint8(1), uint8(0), uint8(0), uint8(1), uint8(1), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, depth, items, ctas, slabs, private, shared, workers, late uint8) {
		s := Shape{
			Depth: int(depth % 18), Items: int(items % 64), CTAs: int(ctas % 18),
			Slabs: int(slabs % 10), Private: int(private % 6), Shared: int(shared % 6),
		}
		n := int(workers % 9)
		what := describe(s, n)
		prog := newRecorder(s)
		var g Grid
		err := g.Reset(context.Background(), s, prog, n)
		valid := s.Depth >= 1 && s.Depth <= MaxDepth && s.CTAs >= 1 && s.CTAs <= MaxCTAs && s.Slabs >= 1 && n >= 1
		if valid != (err == nil) {
			t.Fatalf("%s: Reset returned %v", what, err)
		}
		if err != nil {
			return
		}
		within(t, what, func() {
			var wg sync.WaitGroup
			for id := range n {
				if id == 0 || late>>id&1 == 0 {
					wg.Go(func() { g.Work(id) })
				}
			}
			wg.Wait()
		})
		if err := g.Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		prog.check(t, what, false)
	})
}
