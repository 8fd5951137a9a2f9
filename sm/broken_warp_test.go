package sm_test

import (
	"math"
	"testing"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestWarpMisuse: what PTX leaves undefined is a fault that names both sides.
func TestWarpMisuse(t *testing.T) {
	each := func(f func(t *sm.Thread)) sm.Kernel { return func(b *sm.Block) { b.Threads(f) } }
	lockstep := func(f func(t *sm.Thread)) sm.Kernel {
		return func(b *sm.Block) {
			b.Start(sm.Warps(1, 2, func(w *sm.Warp) { f(w.Thread(3)) }))
		}
	}
	for _, c := range []struct {
		name   string
		kernel sm.Kernel
		want   []string
	}{
		{"a mask without the caller", each(func(t *sm.Thread) { sm.Shfl(t, 0xfffffffe, 1, 1) }),
			[]string{"thread ", ": Shfl: mask 0xfffffffe does not name lane 0, which calls it"}},
		{"an empty mask", each(func(t *sm.Thread) { t.Any(0, true) }),
			[]string{": Any: mask 0x0 does not name lane ", "which calls it"}},
		{"other masks", each(func(t *sm.Thread) {
			mask := sm.FullMask
			if t.Rank() == 5 {
				mask = 0xff
			}
			t.Ballot(mask, true)
		}), []string{": Ballot: ", "__ballot_sync, mask 0xff", ", but thread ", " at broken_warp_test.go:",
			" has come with __ballot_sync", "mask 0x"}},
		{"other operations", each(func(t *sm.Thread) {
			if t.Lane() == 5 {
				t.All(sm.FullMask, true)
			} else {
				t.Any(sm.FullMask, true)
			}
		}), []string{"__all_sync, mask 0x", "__any_sync, mask 0x", "lanes that name each other do the same"}},
		{"SyncWarp instead", each(func(t *sm.Thread) {
			if t.Lane() == 5 {
				t.SyncWarp()
			} else {
				sm.Shfl(t, sm.FullMask, 1.5, 1)
			}
		}), []string{"__syncwarp, mask 0x", "__shfl_sync of b64, width 32, mask 0x"}},
		{"other widths", each(func(t *sm.Thread) { sm.ShflUp(t, sm.FullMask, 'a', 1, 16<<(t.Lane()/31)) }),
			[]string{"__shfl_up_sync of b32, width 16,", "__shfl_up_sync of b32, width 32,"}},
		{"other sizes", each(func(t *sm.Thread) {
			if t.Lane() == 5 {
				sm.MatchAny(t, sm.FullMask, 1.0)
			} else {
				sm.MatchAny(t, sm.FullMask, float32(1))
			}
		}), []string{"__match_any_sync of b32", "__match_any_sync of b64"}},
		{"other signs", each(func(t *sm.Thread) {
			if t.Lane() == 5 {
				sm.ReduceSync[int32](t, tile.ReduceMin, sm.FullMask, 1)
			} else {
				sm.ReduceSync[uint32](t, tile.ReduceMin, sm.FullMask, 1)
			}
		}), []string{"__reduce_min_sync of s32", "__reduce_min_sync of u32"}},
		{"a width that is no power of two", each(func(t *sm.Thread) { sm.Shfl(t, sm.FullMask, 1, 1, 24) }),
			[]string{"width 24, want a power of two up to 32"}},
		{"a width of none", each(func(t *sm.Thread) { sm.Shfl(t, sm.FullMask, 1, 1, 0) }),
			[]string{"width 0, want a power of two up to 32"}},
		{"two widths", each(func(t *sm.Thread) { sm.Shfl(t, sm.FullMask, 1, 1, 8, 8) }),
			[]string{"2 widths, want one or none"}},
		{"no such reduction", each(func(t *sm.Thread) { sm.ReduceSync[int32](t, tile.ReduceInc, sm.FullMask, 1) }),
			[]string{": ReduceSync: ReduceInc, want ReduceAdd,"}},
		{"no reduction at all", each(func(t *sm.Thread) { sm.ReduceSync[int32](t, 255, sm.FullMask, 1) }),
			[]string{": ReduceSync: ReduceOp(255), want ReduceAdd,"}},
		{"a source that the mask lacks", each(func(t *sm.Thread) {
			if t.Lane() < 16 {
				sm.ShflDown(t, 0xffff, 1, 8)
			}
		}), []string{"to get the value of lane ", "which mask 0xffff does not name"}},
		{"a source that has ended", each(func(t *sm.Thread) {
			if t.Rank() != 9 {
				sm.Shfl(t, sm.FullMask, 1, 9)
			}
		}), []string{"to get the value of lane 9, whose thread 9 has ended"}},
		{"a source that the block lacks", each(func(t *sm.Thread) {
			if t.WarpRank() == 1 {
				sm.ShflXor(t, sm.FullMask, 1, 16)
			}
		}), []string{"to get the value of lane ", ", which the block's last warp, of 18 threads, does not have"}},
	} {
		for _, m := range modes[:2] {
			err := launch(t, in(m, block(50)), c.kernel)
			t.Logf("%s: %v", c.name, err)
			faultOf(t, err, sm.RuleSync, append(c.want, "broken_warp_test.go:")...)
		}
	}
	for name, f := range map[string]func(t *sm.Thread){
		"__shfl_sync":       func(t *sm.Thread) { sm.Shfl(t, sm.FullMask, 1, 0) },
		"__shfl_up_sync":    func(t *sm.Thread) { sm.ShflUp(t, sm.FullMask, 1, 0) },
		"__shfl_down_sync":  func(t *sm.Thread) { sm.ShflDown(t, sm.FullMask, 1, 0) },
		"__shfl_xor_sync":   func(t *sm.Thread) { sm.ShflXor(t, sm.FullMask, 1, 0) },
		"__ballot_sync":     func(t *sm.Thread) { t.Ballot(sm.FullMask, true) },
		"__any_sync":        func(t *sm.Thread) { t.Any(sm.FullMask, true) },
		"__all_sync":        func(t *sm.Thread) { t.All(sm.FullMask, true) },
		"__match_any_sync":  func(t *sm.Thread) { sm.MatchAny(t, sm.FullMask, 1) },
		"__match_all_sync":  func(t *sm.Thread) { sm.MatchAll(t, sm.FullMask, 1) },
		"__reduce_xor_sync": func(t *sm.Thread) { sm.ReduceSync[int32](t, tile.ReduceXor, sm.FullMask, 1) },
	} {
		err := launch(t, block(64), lockstep(f))
		faultOf(t, err, sm.RuleSync, name, "thread 35 at broken_warp_test.go:", "of warp 1, which runs in lockstep")
	}
}

// TestWarpDeadlock: lanes that do not come are named, and where they are.
func TestWarpDeadlock(t *testing.T) {
	for _, m := range modes[:2] {
		f := fault(t, launch(t, in(m, block(70)), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				switch {
				case t.WarpRank() != 1:
				case t.Lane() < 2:
					return
				case t.Lane() == 5 || t.Lane() > 28:
					t.SyncThreads()
				case t.Lane() < 16:
					sm.ShflXor(t, 0xffff, t.Lane(), 1)
				default:
					t.Ballot(sm.FullMask, true)
				}
			})
		}))
		if t.Log(f); f.Rule != sm.RuleDeadlock {
			t.Error("not a deadlock")
		}
		contains(t, f, "30 of 70 agents wait, the others have ended",
			"threads 34-36, 38-47 at broken_warp_test.go:",
			"wait for __shfl_xor_sync of warp 1, mask 0xffff: 1 of 14 threads missing: 37",
			"threads 48-60        at ", "wait for __ballot_sync of warp 1: 17 of 30 threads missing: 34-47, 61-63",
			"threads 37, 61-63    at ", "wait for __syncthreads: 66 of 70 threads missing")
	}
}

// softmax is that of rows of 64 numbers, a block of 64 threads for each, and then the layer norm of it.
func softmax(in, out []float32) sm.Kernel {
	return func(b *sm.Block) {
		part := sm.Shared[float32](b, 2, 16)
		b.Threads(func(t *sm.Thread) {
			reduce := func(v float32, op func(a, b float32) float32) float32 {
				for d := 16; d > 0; d /= 2 {
					v = op(v, sm.ShflXor(t, sm.FullMask, v, d))
				}
				t.SyncThreads() // part has been read
				if t.Lane() == 0 {
					part.Store(t, t.WarpRank(), v)
				}
				t.SyncThreads()
				return op(part.Load(t, 0), part.Load(t, 1))
			}
			sum := func(a, b float32) float32 { return a + b }
			i := b.Idx.X*64 + t.Rank()
			most := reduce(in[i], func(a, b float32) float32 { return max(a, b) })
			e := float32(math.Exp(float64(in[i] - most)))
			p := e / reduce(e, sum)
			d := p - reduce(p, sum)/64
			out[i] = d / float32(math.Sqrt(float64(reduce(d*d, sum)/64+1e-12)))
		})
	}
}

// TestSoftmaxByShuffles: a right kernel is clean in every order, and computes the same in each.
func TestSoftmaxByShuffles(t *testing.T) {
	t.Parallel()
	x, out := make([]float32, 128), make([]float32, 128)
	for i := range x {
		x[i] = float32(i*37%29) / 8
	}
	cfg := sm.Config{Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 64}}
	if err := launch(t, cfg, softmax(x, out)); err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for _, v := range out[64:] {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	if math.Abs(sum) > 1e-3 || math.Abs(squares-64) > 1e-1 {
		t.Errorf("the sum of a row is %v, want 0; that of its squares %v, want 64", sum, squares)
	}
	want := append([]float32(nil), out...)
	cfg.Reset = func() { clear(out) }
	cfg.Verify = func() error {
		for i, v := range out {
			assert(v == want[i], "element %d is %v, want %v", i, v, want[i])
		}
		return nil
	}
	for _, m := range modes[1:] {
		if err := sm.Explore(t.Context(), in(m, cfg), few(2), softmax(x, out)); err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}
