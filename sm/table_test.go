package sm_test

import (
	"slices"
	"testing"
	"time"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// An anyAgent is what threads, warps and warpgroups have in common.
type anyAgent interface {
	actor
	String() string
	Block() *sm.Block
	SyncThreadsAnd(p bool) bool
	SyncThreadsOr(p bool) bool
	BarSyncCount(id, n int, p bool) int
	BarSyncAnd(id, n int, p bool) bool
	BarSyncOr(id, n int, p bool) bool
	SyncWarp(mask ...uint32)
	FenceProxyAsync()
	FenceBarrierInit()
	ThreadFence(s sm.Scope)
	GridSync()
	WaitAll()
	Span(name string) func()
}

var _ = []anyAgent{(*sm.Thread)(nil), (*sm.Warp)(nil), (*sm.Warpgroup)(nil)}

// TestBarrierOperations does what mbarriers have, by an agent of each kind.
func TestBarrierOperations(t *testing.T) {
	ops := func(a anyAgent, bar *sm.Barrier, lanes int) {
		wait := func(phase int) {
			assert(bar.TestWaitParity(a, phase) && !bar.TestWaitParity(a, phase+1),
				"%v: phase %d is not over, or the next is", a, phase)
		}
		bar.Init(a, 2*lanes)
		first := bar.Arrive(a)
		assert(first.Pending() == 2*lanes && !bar.TestWait(a, first), "%v: %d pending", a, first.Pending())
		assert(!bar.TryWaitFor(a, first, time.Microsecond), "over too early")
		bar.Arrive(a)
		wait(0)
		assert(bar.TryWait(a, first) && bar.TryWaitFor(a, first, time.Hour), "not over")
		bar.Wait(a, first)
		bar.ArriveN(a, 2)
		wait(1)
		bar.ExpectTx(a, 48)
		token := bar.ArriveTx(a, 2, 16)
		assert(!bar.TestWait(a, token), "over without its bytes")
		bar.CompleteTx(a, 64)
		bar.Wait(a, token)
		bar.WaitParity(a, 2)
		bar.ArriveAndDrop(a) // lanes are left
		assert(!bar.TryWaitParity(a, 3), "over too early")
		bar.Arrive(a)
		wait(3)
		bar.ArriveAndWait(a)
		wait(4)
		bar.Invalidate(a)
		bar.Init(a, lanes)
		bar.ArriveAndWait(a)
		for _, s := range []sm.Scope{sm.ScopeBlock, sm.ScopeCluster, sm.ScopeDevice, sm.ScopeSystem} {
			a.ThreadFence(s)
		}
		a.FenceBarrierInit()
		a.SyncWarp()
		end := a.Span("epilogue")
		a.SyncThreads()
		end()
		assert(a.SyncThreadsAnd(true) && !a.SyncThreadsOr(false) && a.SyncThreadsCount(true) == 192, "votes of %v", a)
	}
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 256}}), func(b *sm.Block) {
			bars := b.Barriers(34)
			b.Start(
				sm.Threads(0, 32, func(t *sm.Thread) { ops(t, &bars[t.Rank()], 1) }),
				sm.Warps(1, 2, func(w *sm.Warp) { ops(w, &bars[32], 32) }),
				sm.Warpgroups(1, 2, func(w *sm.Warpgroup) { ops(w, &bars[33], 128) }),
			)
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestCopies moves numbers by every copy that a thread has, and adds where it can.
func TestCopies(t *testing.T) {
	for _, m := range modes {
		in32 := ramp(64 * 8)
		out, sums := make([]int32, 64*8), slices.Clone(in32)
		maps := make([]*tile.TensorMap, 3)
		for i, data := range [][]int32{in32, out, sums} {
			var err error
			if maps[i], err = sm.NewTensorMap(data,
				tile.Config{Dims: []uint64{64, 8}, Box: []uint32{64, 8}}); err != nil {
				t.Fatal(err)
			}
		}
		bulk, added := make([]int32, 64), slices.Repeat([]int32{1}, 64)
		remote := [2][]int32{make([]int32, 64), make([]int32, 64)}
		cfg := in(m, sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 128}})
		err := launch(t, cfg, func(b *sm.Block) {
			x, y := sm.Shared[int32](b, 64*8, 128), sm.Shared[int32](b, 64, 128)
			full := b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				t := w.Thread(5)
				assert(w.Thread(32).Elected() && !t.Elected() && t.Rank() == 5 && t.Lane() == 5 &&
					t.Idx() == sm.Dim3{X: 5},
					"identity of %v", t)
				w.SetMaxRegisters(240)
				for i := range 4 {
					w.Warp(i).SetMaxRegisters(24)
				}
				full.Init(t, 1)
				w.ClusterSync()
				rank := b.ClusterRank()
				peer := 1 - rank
				assert(sm.SharedRank(x) == rank && sm.SharedRank(x.MapShared(peer)) == peer, "rank of %v", t)

				t.PrefetchTensor(maps[0], 0, 0)
				full.ArriveTx(t, 1, x.Size())
				if rank == 1 {
					t.LoadTensorMulticast(x, maps[0], full, 0b11, 0, 0)
				}
				full.WaitParity(w, 0)
				assert(x.Load(w, 511) == 511, "multicast brought %d", x.Load(w, 511))

				// A copy between CTAs, added to once it is there, and a load of the same.
				y.Write(w, 0, make([]int32, 64))
				w.FenceProxyAsync()
				full.ArriveTx(t, 1, y.Size())
				w.ClusterSync()
				t.CopyBulk(y.MapShared(peer).Slice(0, 32), x.Slice(0, 32), full.MapShared(peer))
				t.CopyBulk(y.MapShared(peer).Slice(32, 64), x.Slice(32, 64), full.MapShared(peer))
				full.WaitParity(w, 1)
				full.ArriveTx(t, 1, y.Size())
				t.ReduceBulk(tile.ReduceAdd, y.MapShared(rank), x.Slice(64, 128), full.MapShared(rank))
				full.WaitParity(w, 2)
				y.Read(w, 0, remote[rank])
				w.ClusterSync() // the peer knows that x has been read

				full.ArriveTx(t, 1, x.Size())
				t.LoadTensor(x, maps[0], full, 0, 0)
				full.WaitParity(w, 3)
				if rank == 0 {
					t.StoreTensor(maps[1], x, 0, 0)
					t.ReduceTensor(tile.ReduceAdd, maps[2], x, 0, 0)
					t.CommitGroup()
					sm.StoreBulk(t, bulk, x.Slice(64, 128))
					sm.StoreReduceBulk(t, tile.ReduceAdd, added, x.Slice(0, 64))
					t.CommitGroup()
					t.WaitGroup(1)
					assert(out[511] == 511 && sums[511] == 1022, "stored %d and %d", out[511], sums[511])
					t.WaitGroupRead(0)
				}
				w.ClusterSync()
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
			continue
		}
		for i := range int32(512) {
			if out[i] != i || sums[i] != 2*i {
				t.Fatalf("%s: word %d is stored as %d and added as %d", mode(m), i, out[i], sums[i])
			}
		}
		for i := range int32(64) {
			if bulk[i] != 64+i || added[i] != 1+i {
				t.Fatalf("%s: word %d is stored as %d and added as %d", mode(m), i, bulk[i], added[i])
			}
			for rank := range remote {
				if got := remote[rank][i]; got != i+64+i {
					t.Fatalf("%s: word %d of CTA %d is %d", mode(m), i, rank, got)
				}
			}
		}
	}
}

// TestGroup: the collective forms of memcpy_async, which threads call alike.
func TestGroup(t *testing.T) {
	src := ramp(1000)
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 96}}), func(b *sm.Block) {
			x, bar := sm.Shared[int32](b, 1000, 4), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 96)
				}
				g := t.ThisThreadBlock()
				g.Sync()
				assert(g.Size() == 96 && g.Rank() == t.Rank(), "the group of %v", t)
				sm.MemcpyAsync(g, x, src, nil)
				g.WaitAll()
				for i := t.Rank(); i < 1000; i += 96 {
					assert(x.Load(t, 999-i) == int32(999-i), "word %d", 999-i)
				}
				g.Sync()
				sm.MemcpyAsync(g, x.Slice(0, 7), src[100:107], bar) // fewer than threads
				bar.ArriveAndWait(t)
				assert(x.Load(t, t.Rank()%7) == int32(100+t.Rank()%7), "word %d", t.Rank()%7)
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestGroupOfParts: the group of threads that are a part of their block has no others.
func TestGroupOfParts(t *testing.T) {
	t.Parallel()
	src := ramp(1000)
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 160}}), func(b *sm.Block) {
			x := sm.Shared[int32](b, 1000, 4)
			rank := func(t *sm.Thread, want int) {
				g := t.ThisThreadBlock()
				assert(g.Size() == 64 && g.Rank() == want, "%v is %d of %d", t, g.Rank(), g.Size())
				sm.MemcpyAsync(g, x, src, nil)
				g.WaitAll()
				for i := range src {
					assert(x.Load(t, i) == src[i], "word %d", i)
				}
			}
			b.Start(
				sm.Threads(128, 160, func(t *sm.Thread) { rank(t, t.Rank()-96) }),
				sm.Threads(32, 64, func(t *sm.Thread) { rank(t, t.Rank()-32) }),
			)
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestWGMMARules: wgmma's own rules are checked under Check.
func TestWGMMARules(t *testing.T) {
	for name, c := range map[string]struct {
		f     func(w *sm.Warpgroup, mma func())
		check bool // else always
	}{
		"no fence": {func(_ *sm.Warpgroup, mma func()) { mma() }, true},
		"no wait": {func(w *sm.Warpgroup, mma func()) {
			w.Fence()
			mma()
			w.CommitGroup()
		}, true},
		"registers of no count": {func(w *sm.Warpgroup, _ func()) { w.SetMaxRegisters(250) }, false},
		"columns of no number":  {func(w *sm.Warpgroup, _ func()) { w.Accumulators(wgmma.F32, 12) }, false},
		"more columns than there is memory": {func(w *sm.Warpgroup, _ func()) {
			b := wgmma.KMajor(64*64*2, tile.Swizzle128B)
			w.Fence()
			w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: 128}, w.Accumulators(wgmma.F32, 128), b, b)
		}, false},
	} {
		for _, m := range modes[:2] {
			err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 128}, Name: name}), func(b *sm.Block) {
				x := sm.Shared[uint16](b, 64*64*2, 1024)
				b.Warpgroups(func(w *sm.Warpgroup) {
					x.Write(w, 0, make([]uint16, x.Len()))
					w.FenceProxyAsync()
					d := w.Accumulators(wgmma.F32, 64)
					c.f(w, func() {
						w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: 64}, d, x.KMajor(tile.Swizzle128B),
							x.At(64*64).KMajor(tile.Swizzle128B))
					})
					d.Float32(0, 0)
				})
			})
			if c.check && !m.Check {
				continue
			}
			faultOf(t, err, sm.RuleWGMMA, "warpgroup 0 at table_test.go:")
		}
	}
}

// TestPrefetchBulk checks the hint's operands.
func TestPrefetchBulk(t *testing.T) {
	src := ramp(64)
	prefetch := func(from []int32) sm.Kernel {
		return func(b *sm.Block) { b.Threads(func(t *sm.Thread) { sm.PrefetchBulk(t, from) }) }
	}
	for _, m := range modes {
		at := 0 // of a multiple of 16
		for ; launch(t, m, prefetch(src[at:][:32])) != nil; at++ {
			if at == 3 {
				t.Fatal("no address is right")
			}
		}
		faultOf(t, launch(t, m, prefetch(src[at:][:33])), sm.RuleAlignment,
			": PrefetchBulk: ", "size 132 is not a multiple of 16")
		faultOf(t, launch(t, m, prefetch(src[at+1:][:32])), sm.RuleAlignment, "is not a multiple of 16")
	}
}
