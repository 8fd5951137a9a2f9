package sm_test

import "example.com/leafhopper/sm"

// locked is four rounds of a critical section of each thread.
func locked(lock func(t *sm.Thread, x *sm.Array[int32]) (unlock func())) sm.Kernel {
	return func(b *sm.Block) {
		counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
			for range 4 {
				unlock := lock(t, x)
				t.ThreadFence(sm.ScopeBlock)
				x.Store(t, 3, x.Load(t, 3)+1)
				t.ThreadFence(sm.ScopeBlock)
				unlock()
			}
			t.SyncThreads()
			n := x.Load(t, 3)
			assert(int(n) == 4*b.Dim.X, "counted %d", n)
		})
	}
}

// quietAtomics is what atomics of shared memory are for.
func quietAtomics() []quiet {
	retired, partial, total := make([]uint32, 1), make([]int32, 3), make([]float32, 1)
	return []quiet{
		{"a histogram", block(6), func(b *sm.Block) {
			out := make([]int32, 4)
			counted(b, func(t *sm.Thread, bins *sm.Array[int32]) {
				for i := range 8 {
					sm.AtomicAdd(t, bins.At((t.Rank()+i)%4), 1)
				}
				t.FenceProxyAsync()
				t.SyncThreads()
				n := bins.Load(t, t.Rank()%4)
				assert(n == 12, "bin %d has %d", t.Rank()%4, n)
				if t.Rank() == 0 {
					sm.StoreBulk(t, out, bins)
					t.CommitGroup()
					t.WaitGroup(0)
					assert(out[3] == 12, "stored %v", out)
				}
			})
		}},
		{"a histogram in a cluster", pair(3), func(b *sm.Block) {
			counted(b, func(t *sm.Thread, bins *sm.Array[int32]) {
				for i := range 8 {
					sm.AtomicAdd(t, bins.MapShared(i%2).At(i/2), 1)
				}
				t.ClusterSync()
				n := bins.Load(t, t.Rank())
				assert(n == 6, "bin %d has %d", t.Rank(), n)
			})
		}},
		{"a lock by CAS", block(4), locked(func(t *sm.Thread, x *sm.Array[int32]) func() {
			for sm.AtomicCAS(t, x, 0, 1) != 0 {
			}
			return func() { sm.AtomicStore(t, x, 0) }
		})},
		{"a lock by exchange", block(4), locked(func(t *sm.Thread, x *sm.Array[int32]) func() {
			for sm.AtomicExch(t, x, 1) != 0 {
			}
			return func() { sm.AtomicExch(t, x, 0) }
		})},
		{"a lock by tickets", block(4), locked(func(t *sm.Thread, x *sm.Array[int32]) func() {
			for mine := sm.AtomicAdd(t, x, 1); sm.AtomicLoad(t, x.At(1)) != mine; {
			}
			return func() { sm.AtomicAdd(t, x.At(1), 1) }
		})},
		{"a flag in a chain", block(4), func(b *sm.Block) {
			sum := sm.Shared[int32](b, 4, 16)
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				sum.Store(t, t.Rank(), 1)
				t.ThreadFence(sm.ScopeBlock)
				if sm.AtomicAdd(t, x, 1) == 3 { // who comes last
					t.ThreadFence(sm.ScopeBlock)
					for i := range 4 {
						assert(sum.Load(t, i) == 1, "part %d", i)
					}
				}
			})
		}},
		{"the last block reduces", sm.Config{
			Grid: sm.Dim3{X: 3}, Block: sm.Dim3{X: 4}, Reset: func() { total[0] = 0 },
		}, func(b *sm.Block) {
			last := sm.Shared[uint32](b, 1, 4)
			tickets, parts, sum := sm.Global(b, retired), sm.Global(b, partial), sm.Global(b, total)
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				sm.AtomicAdd(t, x, 1)
				sm.AtomicAdd(t, sum, 1)
				t.SyncThreads()
				if t.Rank() == 0 {
					parts.Store(t, b.Idx.X, x.Load(t, 0))
					t.ThreadFence(sm.ScopeDevice)
					last.Store(t, 0, sm.AtomicInc(t, tickets, 2))
				}
				t.SyncThreads()
				if t.Rank() == 0 && last.Load(t, 0) == 2 {
					t.ThreadFence(sm.ScopeDevice)
					n := parts.Load(t, 0) + parts.Load(t, 1) + parts.Load(t, 2)
					assert(n == 12 && sum.Load(t, 0) == 12, "sums of %d and %v", n, sum.Load(t, 0))
				}
			})
		}},
		{"atomics of both sizes, one after the other", block(2), func(b *sm.Block) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				long := sm.Recast[int64](x)
				sm.AtomicAdd(t, x.At(t.Rank()), -1)
				t.SyncThreads()
				sm.AtomicAdd(t, long, 1)
				t.SyncThreads()
				assert(sm.AtomicLoad(t, x) == 1 && sm.AtomicLoad(t, x.At(1)) == 0, "%d", long.Load(t, 0))
			})
		}},
		{"atomics and loads of all that they know", block(20), func(b *sm.Block) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				for range 3 {
					sm.AtomicMax(t, x, int32(t.Rank()))
					sm.AtomicLoad(t, x)
					t.SyncThreads()
					assert(x.Load(t, 0) == 19, "%d", x.Load(t, 0))
					t.SyncThreads()
					sm.AtomicStore(t, x, 0)
					t.SyncThreads()
				}
			})
		}},
	}
}
