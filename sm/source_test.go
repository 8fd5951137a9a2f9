package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
)

// TestSourceOutlives: shared memory that a copy still reads must not go. Free mode, whose copies
// land when they are issued, does not know better.
func TestSourceOutlives(t *testing.T) {
	for _, broken := range []bool{false, true} {
		kernel := func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				x.Write(t, 0, ramp(64))
				t.FenceProxyAsync()
				t.ClusterSync()
				if b.ClusterRank() == 0 {
					t.CopyBulk(x.MapShared(1), x, bar.MapShared(1))
				} else {
					bar.ArriveTx(t, 1, x.Size())
					bar.WaitParity(t, 0)
				}
				if !broken {
					t.ClusterSync()
				}
			})
		}
		err := launch(t, sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Check: true}, kernel)
		if !broken {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		faultOf(t, err, sm.RuleExit, ", CTA (0,0,0), ", "CopyBulk by thread 0 of CTA (0,0,0) at source_test.go:",
			"still on its way")
	}
}

// TestExitUnexpected: of a load whose bytes nobody has expected, the report says that.
func TestExitUnexpected(t *testing.T) {
	for _, broken := range []bool{false, true} {
		err := launch(t, sm.Config{Block: sm.Dim3{X: 32}, Check: true}, func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 64, 16), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					full.Init(t, 33)
				}
				t.SyncThreads()
				if t.Rank() == 0 {
					sm.LoadBulk(t, x, in64, full)
					if broken {
						full.Arrive(t)
					} else {
						full.ArriveTx(t, 1, x.Size())
					}
				}
				full.ArriveAndWait(t)
			})
		})
		if !broken {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		faultOf(t, err, sm.RuleExit, "LoadBulk by thread 0 at source_test.go:",
			"full phase 0 has ended without them: fewer were expected of it (expect_tx) than come")
	}
}

// TestSourceUncommitted: of a store that no wait can be for, since it is in no group, the report says that.
func TestSourceUncommitted(t *testing.T) {
	for _, broken := range []bool{false, true} {
		err := launch(t, sm.Config{Check: true}, func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 8, 16), make([]int32, 8)
			b.Threads(func(t *sm.Thread) {
				for i := range 2 {
					x.Write(t, 0, ramp(8 + i)[i:])
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, x)
					if !broken {
						t.CommitGroup()
					}
					t.WaitGroupRead(0)
				}
			})
		})
		if !broken {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		faultOf(t, err, sm.RuleSource, "Write: elements 0 to 7 of x: not ordered after the StoreBulk by thread 0 at",
			"no CommitGroup has come after it")
	}
}

// TestSourceOfStore: what a bulk store reads must not change before a wait says that it has been read, whoever changes
// it. Where copies land when they are issued it has been.
func TestSourceOfStore(t *testing.T) {
	for _, broken := range []bool{false, true} {
		kernel := func(b *sm.Block) {
			x, out := sm.Shared[int32](b, 64, 16), make([]int32, 64)
			b.Threads(func(t *sm.Thread) {
				for i := range 3 {
					x.Write(t, 32*t.Rank(), ramp(64 + i)[32*t.Rank()+i:][:32])
					t.FenceProxyAsync()
					t.SyncThreads()
					if t.Rank() == 0 {
						sm.StoreBulk(t, out, x)
						t.CommitGroup()
						if !broken || i < 1 {
							t.WaitGroupRead(0)
						}
					}
					t.SyncThreads()
				}
				if t.Rank() == 0 {
					t.WaitGroup(0)
					assert(out[63] == 65, "the last word is %d", out[63])
				}
			})
		}
		for _, m := range modes {
			cfg := in(m, sm.Config{Block: sm.Dim3{X: 2}, Name: "reuse"})
			if !broken {
				if err := launch(t, cfg, kernel); err != nil {
					t.Errorf("%s: %v", mode(m), err)
				}
			} else if m.Check && m.Schedule != sm.Eager {
				faultOf(t, sm.Explore(t.Context(), cfg, 50, kernel), sm.RuleSource, "reuse", "thread 0", "at source_test.go:",
					"Write: elements 0 to 31 of x: ", "StoreBulk", "knows of no WaitGroupRead")
			}
		}
	}
}
