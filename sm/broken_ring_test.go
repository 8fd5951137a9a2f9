package sm_test

import (
	"example.com/leafhopper/sm"
)

// ring is the bugs that a kernel with a producer and consumers has: the producer warp loads
// tiles into a ring of stages, and four consumer warps read them.
type ring struct {
	parity   int // that consumers are wrong by
	arrivals int // that full expects too many
	bytes    int // that the producer expects too many
	tiles    int // that the producer does not load
	empty    int // arrivals that empty expects, if not one for each warp
}

const (
	ringStages    = 2
	ringTiles     = 7
	ringWords     = 64 // of a tile
	ringConsumers = 4  // warps
)

func (r ring) kernel(b *sm.Block) {
	in := ramp(ringTiles * ringWords)
	buf := sm.Shared[int32](b, ringStages*ringWords, 16)
	full, empty := b.Barriers(ringStages), b.Barriers(ringStages)
	produce := func(w *sm.Warp) {
		t := w.Thread(0)
		for s := range ringStages {
			full[s].Init(t, 1+r.arrivals)
			empty[s].Init(t, max(r.empty, ringConsumers))
		}
		w.SyncThreads()
		for i := range ringTiles - r.tiles {
			s, phase := i%ringStages, i/ringStages
			empty[s].WaitParity(t, phase+1)
			full[s].ArriveTx(t, 1, 4*ringWords+r.bytes)
			sm.LoadBulk(t, buf.At(s*ringWords), in[i*ringWords:][:ringWords], &full[s])
		}
	}
	consume := func(w *sm.Warp) {
		w.SyncThreads()
		mine := make([]int32, ringWords/ringConsumers)
		at := (w.Rank() - 1) * len(mine)
		for i := range ringTiles {
			s, phase := i%ringStages, i/ringStages
			full[s].WaitParity(w, phase+r.parity)
			buf.Read(w, s*ringWords+at, mine)
			if r == (ring{}) {
				assert(mine[1] == int32(i*ringWords+at+1), "tile %d has %d", i, mine[1])
			}
			empty[s].Arrive(w.Thread(0))
		}
	}
	b.Start(sm.Warps(0, 1, produce), sm.Warps(1, 1+ringConsumers, consume))
}

func ringTwins() []twin {
	cfg := sm.Config{Block: sm.Dim3{X: 32 * (1 + ringConsumers)}, Name: "ring"}
	broken := func(bug ring) func(bool) sm.Kernel {
		return func(broken bool) sm.Kernel {
			if !broken {
				bug = ring{}
			}
			return bug.kernel
		}
	}
	return []twin{{
		name: "wrong parity on full", cfg: cfg, kernel: broken(ring{parity: 1}), races: true,
		rule: sm.RuleExit,
		want: []string{"ring, CTA (0,0,0)", "load by thread 0 at", "completes full[", "phase 3",
			"nobody has seen complete"},
		also: map[sm.Rule][]string{
			sm.RuleRace:     {" of buf", ": not ordered after the ", " by ", " full[0] phase 0", " does not know "},
			sm.RuleDeadlock: {" for full["},
			// The producer comes a second time too early; with the build tag invariants the consumers may, too.
			sm.RuleBarrier: {"thread ", ": Arrive", "] phase ", "(last arrived: "},
		},
	}, {
		name: "one arrival too many", cfg: cfg, kernel: broken(ring{arrivals: 1}),
		rule: sm.RuleDeadlock,
		want: []string{
			"warps 1-4 at", "wait for full[0] phase 0: 1 of 2 arrivals missing (last arrived: thread 0 at",
			"thread 0  at", "waits for empty[0] phase 0: 4 of 4 arrivals missing (last arrived: nobody)",
		},
	}, {
		name: "16 bytes too many expected", cfg: cfg, kernel: broken(ring{bytes: 16}),
		rule: sm.RuleDeadlock,
		want: []string{
			"warps 1-4 at", "wait for full[0] phase 0: 0 arrivals missing, 16 bytes missing (expected 272 at",
			"copies brought 256)",
		},
	}, {
		// If what is left of a copy lands behind the 240 bytes that complete the phase, it
		// counts in the next.
		name: "16 bytes too few expected", cfg: cfg, kernel: broken(ring{bytes: -16}),
		rule: sm.RuleDeadlock,
		want: []string{"warps 1-4 at", "wait for full[", "bytes too many (expected 240 at", "copies brought 2"},
		also: map[sm.Rule][]string{
			sm.RuleExit:  {"full[", "phase"},
			sm.RuleBytes: {"full[", "bytes too many"},
			sm.RuleRace: {
				"bytes of which come behind the phase that they were to complete, in full[",
				"fewer bytes were expected of it (expect_tx) than come",
			},
		},
	}, {
		name: "producer stops one tile early", cfg: cfg, kernel: broken(ring{tiles: 1}),
		rule: sm.RuleDeadlock,
		want: []string{
			"4 of 5 agents wait, the others have ended", "warps 1-4 at",
			"full[0] phase 3: 1 of 1 arrivals missing (last arrived: thread 0 at",
		},
	}, {
		// CUTLASS's classic.
		name: "empty counts threads, warps arrive", cfg: cfg, kernel: broken(ring{empty: 128}),
		rule: sm.RuleDeadlock,
		want: []string{
			"thread 0  at", "waits for empty[0] phase 0: 124 of 128 arrivals missing (last arrived: thread ",
			"full[0] phase 1",
		},
	}, {
		name: "half the block skips SyncThreads",
		cfg:  sm.Config{Block: sm.Dim3{X: 128}, Name: "half"},
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					if broken && t.Rank() >= 64 {
						return
					}
					t.SyncThreads()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"64 of 128 agents wait, the others have ended", "threads 0-63 at",
			"wait for __syncthreads: 64 of 128 threads missing (last arrived: thread ",
		},
	}, {
		name: "more arrive than the barrier expects",
		cfg:  sm.Config{Block: sm.Dim3{X: 64}, Name: "crowd"},
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				ready := b.Barrier()
				b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
					if w.Rank() == 0 {
						ready.Init(w.Thread(0), 2)
					}
					w.SyncThreads()
					if broken {
						ready.Arrive(w) // all 32 threads of the warp
					} else {
						ready.Arrive(w.Thread(0))
					}
				}))
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"warp ", "Arrive: ready phase 0 (last arrived: nobody): arrival underflow: count 32, pending 2"},
	}}
}
