package plan

import (
	"testing"

	"example.com/leafhopper/asm"
)

// eachKernel calls f for every kernel of elements of type t on every machine that can be pretended.
func eachKernel(t *testing.T, elem asm.Type, f func(t *testing.T, on *Machine, k *asm.Kernel)) {
	for i := range Machines {
		m := &Machines[i]
		on := m.Machine.Tune()
		for _, k := range asm.Kernels() {
			if k.Accepts(elem) {
				t.Run(m.Name+"/"+k.Name, func(t *testing.T) { f(t, on, k) })
			}
		}
	}
}

// TestSlabCounts has very many elements and little K, and a K so long that nobody would look at a context meanwhile.
func TestSlabCounts(t *testing.T) {
	eachKernel(t, asm.F32, func(t *testing.T, on *Machine, k *asm.Kernel) {
		placed := false
		for _, workers := range []int{2, 8, 32, 64} {
			for _, d := range [][2]int{{300, 300}, {65600, 65600}, {1 << 24, 30}, {30, 1 << 24}} {
				q := posed(on, k, asm.F32, "NN", d[0], d[1], 1)
				q.Staff(workers, workers, false)
				g := Choose(&q)
				placed = placed || g.Share == BySlabs
				if err := check(&q, &g); err != nil {
					t.Errorf("%d workers, %dx%dx1: %v: %v", workers, d[0], d[1], &g, err)
				}
			}
		}
		if !placed {
			t.Error("nothing is shared by slabs")
		}
		q := posed(on, k, asm.F32, "NN", 65, 33, 12e6)
		if q.Staff(16, 16, false); Choose(&q).Share == BySlabs {
			t.Errorf("slabs of so long a K")
		}
	})
}

// TestRingMemory checks the bound on the memory of a ring of the engine's own choice, for extents in which one and two
// bytes more make another tile, and for columns that fill no panel.
func TestRingMemory(t *testing.T) {
	const longest = 1 << 21
	for _, elem := range []asm.Type{asm.BF16, asm.F32, asm.F64} {
		eachKernel(t, elem, func(t *testing.T, on *Machine, k *asm.Kernel) {
			for _, m := range []int{1, 100, 300, 1000, 1025, 2047, 2049, 4096, longest} {
				for _, n := range []int{1, 2, 5, 40, 100, 1023, 1025, 2047, 4096, longest} {
					for _, depth := range []int{1, 255, 257, 513, 4096, 5000, 450159, longest} {
						if max(m*depth, n*depth, m*n) > 1<<27 {
							continue
						}
						q := posed(on, k, elem, "NN", m, n, depth)
						for _, workers := range []int{2, 4, 16, 64} {
							for _, part := range []int{0, RoundUp(CeilDiv(depth, 4), SplitUnit)} {
								if part > 0 && (k.Arithmetic != asm.Hopper || part >= depth) {
									continue
								}
								q.Workers, q.Procs, q.Part = workers, workers, part
								g := q.PlanRing()
								if err := checkRing(&q, &g.Ring); err != nil {
									t.Fatalf("%d workers, %dx%dx%d, parts of %d: %v", workers, m, n, depth, part, err)
								}
							}
						}
					}
				}
			}
		})
	}
}

// TestSumsOfColumns has so many sums that columns go from hand to hand down K only while there is memory for them.
func TestSumsOfColumns(t *testing.T) {
	for _, elem := range []asm.Type{asm.BF16, asm.F32, asm.F64} {
		eachKernel(t, elem, func(t *testing.T, on *Machine, k *asm.Kernel) {
			for _, layout := range []string{"NN", "NT", "NP"} {
				for _, m := range []int{8, 16, 128} {
					for _, n := range []int{60_000, 300_001} {
						for _, workers := range []int{5, 16, 200} {
							q := posed(on, k, elem, layout, m, n, 1100)
							q.Workers, q.Procs, q.Plain = workers, workers, false
							g := q.PlanColumns()
							if err := check(&q, &g); err != nil {
								t.Errorf("%s, %d workers, %dx%d: %v: %v", layout, workers, m, n, &g, err)
							}
						}
					}
				}
			}
		})
	}
}

// TestRingIdle checks that no worker of a ring is idle because a tall C has few columns.
func TestRingIdle(t *testing.T) {
	eachKernel(t, asm.BF16, func(t *testing.T, on *Machine, k *asm.Kernel) {
		for n := 1; n <= 300; n += 23 {
			q := posed(on, k, asm.BF16, "NN", 2000, n, 2048)
			for q.Workers = 1; q.Workers <= 16; q.Workers++ {
				q.Procs = q.Workers
				if g := q.PlanRing(); g.Ring.Slabs() < q.Workers {
					t.Errorf("%d columns, %d workers: %d slabs", n, q.Workers, g.Ring.Slabs())
				}
			}
		}
	})
}

// TestWorkersOfSlabs checks that small products call no more helpers than have enough to do.
func TestWorkersOfSlabs(t *testing.T) {
	for i := range Machines {
		m := &Machines[i]
		k := best(t, m, asm.F32)
		for _, tc := range []struct{ n, asked, want int }{
			{100, 2, 2}, {100, 16, 16}, {160, 16, 16}, {160, 6, 6}, {256, 16, 16},
		} {
			q := posed(m.Machine.Tune(), k, asm.F32, "NN", tc.n, tc.n, tc.n)
			q.Staff(tc.asked, 16, false)
			if g := Choose(&q); k.InRows(asm.F32) && g.Workers != tc.want {
				t.Errorf("%s: %d cubed by %d workers: %v, want %d", m.Name, tc.n, tc.asked, &g, tc.want)
			}
		}
	}
}

// TestLatency bounds how much of B is read between looks at the context.
func TestLatency(t *testing.T) {
	const longest = 1 << 26
	eachKernel(t, asm.BF16, func(t *testing.T, on *Machine, k *asm.Kernel) {
		for depth := 1 << 10; k.Arithmetic == asm.Native && depth <= 1<<15; depth *= 2 {
			q := posed(on, k, asm.BF16, "NN", 1, longest/depth, depth)
			q.Staff(1, 1, false)
			g := Choose(&q)
			if g.Share != ByColumns {
				t.Fatalf("K = %d: %v, want columns", depth, &g)
			}
			if got := min(g.Columns.Cols, q.N) * depth * 2; got > slabBytes {
				t.Errorf("K = %d: a slab of %d columns reads %d bytes of B", depth, g.Columns.Cols, got)
			}
		}
	})
}

// TestLatencyDeep: a tile of a few elements takes as long as a whole one, so where K is deep the context is looked at
// within it.
func TestLatencyDeep(t *testing.T) {
	eachKernel(t, asm.F32, func(t *testing.T, on *Machine, k *asm.Kernel) {
		q := posed(on, k, asm.F32, "NN", 1, 1, 6_000_000)
		q.Staff(2, 2, true)
		if g := Choose(&q); k.Arithmetic == asm.Hopper && g.Share != ByRing {
			t.Errorf("%v, want a ring, which has steps of K", &g)
		}
	})
}

// TestFetching checks that many workers with AMX share products of few rows, which are fetching rather than
// multiplying, and leave a cube of as many flops to one.
func TestFetching(t *testing.T) {
	for _, name := range []string{"amx", "goamx"} {
		k := asm.Named(name)
		for _, tc := range []struct {
			m, n, k int
			alone   bool
		}{{128, 128, 128, true}, {16, 256, 512, false}, {64, 256, 256, false}} {
			q := posed(Machines[4].Machine.Tune(), k, asm.BF16, "NN", tc.m, tc.n, tc.k)
			q.Staff(16, 16, false)
			if g := Choose(&q); (g.Share == ByCaller) != tc.alone {
				t.Errorf("%s, %+v: %v", name, tc, &g)
			}
		}
	}
}

// TestCounts has shapes of which an int of 32 bits does not count the bytes of panels take a way that needs none of
// them at once.
func TestCounts(t *testing.T) {
	const tall, long = 153_391_700, 70_000_000
	q := posed(Here, asm.Named("gobf16"), asm.BF16, "TN", tall, 2, 1)
	if q.Staff(1, 1, false); Choose(&q).Share == ByCaller {
		t.Errorf("%dx1 by 1x2 by its caller", tall)
	}
	for _, depth := range []int{long, long / 2, long / 500} {
		q := posed(Here, asm.Named("hopper-go"), asm.E4M3, "NT", 1, 2, depth)
		q.Staff(2, 2, false)
		if g := Choose(&q); (g.Share == ByColumns) != (depth == long/500) {
			t.Errorf("1x%d by %dx2: %v", depth, depth, &g)
		}
	}
}

// TestCountsFlops has shapes of which an int of 32 bits does not count the flops of a tile, or of slabs, get the plans
// that they get elsewhere.
func TestCountsFlops(t *testing.T) {
	q := posed(Here, asm.Named("hopper-go"), asm.BF16, "NN", 1, 2, 1<<25)
	q.Staff(1, 1, true)
	if g := Choose(&q); g.Share != ByRing {
		t.Errorf("1x%d by %dx2: %v, want a ring, which has steps of K", q.K, q.K, &g)
	}
	q = posed(Here, asm.Named("go"), asm.BF16, "TN", 1<<20, 5, 35)
	q.Staff(2, 2, false)
	if g := Choose(&q); g.Slabs.Rows != maxSlabRows {
		t.Errorf("%d rows: %v, want slabs of %d", q.M, &g, maxSlabRows)
	}
}
