package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestDescriptorMisuse does with tensor maps that are changed what neither PTX nor the hardware has.
func TestDescriptorMisuse(t *testing.T) {
	type state struct {
		x    *sm.Array[int32]
		full *sm.Barrier
		smem []sm.TMADescriptor
		slot *sm.TMADescriptor
		peer *sm.TMADescriptor // a smem[0] of another CTA
	}
	published := func(w *sm.Warp, s *state) {
		s.slot.CopyFenceRelease(w, &s.smem[0], sm.ScopeDevice)
		s.slot.FenceAcquire(w, sm.ScopeDevice)
	}
	for _, c := range []struct {
		name string
		do   func(w *sm.Warp, t *sm.Thread, s *state)
		rule sm.Rule
		want string
	}{
		{"nobody has stored a map", func(_ *sm.Warp, t *sm.Thread, s *state) { s.smem[1].ReplaceRank(t, 1) },
			sm.RuleUnwritten, "ReplaceRank: smem[1] holds no tensor map"},
		{"an empty slot", func(_ *sm.Warp, t *sm.Thread, s *state) { t.PrefetchTensor(s.slot, 0, 0) },
			sm.RuleUnwritten, "PrefetchTensor: the tensor map in global memory holds no tensor map"},
		{"nil", func(_ *sm.Warp, t *sm.Thread, s *state) { (*sm.TMADescriptor)(nil).ReplaceRank(t, 1) },
			sm.RuleMap, "the descriptor is nil"},
		{"a nil source", func(_ *sm.Warp, t *sm.Thread, s *state) { s.slot.Store(t, (*tile.TensorMap)(nil)) },
			sm.RuleMap, "Store: the source is nil"},
		{"no map to copy through", func(_ *sm.Warp, t *sm.Thread, s *state) { t.PrefetchTensor(nil, 0, 0) },
			sm.RuleMap, "tensor map is nil"},
		{"through shared memory", func(_ *sm.Warp, t *sm.Thread, s *state) { t.LoadTensor(s.x, &s.smem[0], s.full, 0, 0) },
			sm.RuleMap, "LoadTensor: smem[0] lies in shared memory, where no copy reads its tensor map"},
		{"acquired in shared memory", func(_ *sm.Warp, t *sm.Thread, s *state) { s.smem[0].FenceAcquire(t, sm.ScopeDevice) },
			sm.RuleMap, "FenceAcquire: smem[0] lies in shared memory"},
		{"another CTA's", func(_ *sm.Warp, t *sm.Thread, s *state) { s.peer.ReplaceRank(t, 1) },
			sm.RuleShared, "smem[0] lies in the shared memory of CTA"},
		{"a thread alone", func(_ *sm.Warp, t *sm.Thread, s *state) {
			s.slot.CopyFenceRelease(t, &s.smem[0], sm.ScopeDevice)
		}, sm.RuleSync, "by thread 0 of warp 0: it is an operation of one warp"},
		{"from global memory", func(w *sm.Warp, _ *sm.Thread, s *state) {
			s.slot.CopyFenceRelease(w, s.slot, sm.ScopeDevice)
		}, sm.RuleMap, "the source, the tensor map in global memory, is to lie in shared memory"},
		{"to shared memory", func(w *sm.Warp, t *sm.Thread, s *state) {
			s.smem[1].CopyFenceRelease(w, &s.smem[0], sm.ScopeDevice)
		}, sm.RuleMap, "the destination, smem[1], lies in shared memory"},
		{"a dimension of nothing", func(_ *sm.Warp, t *sm.Thread, s *state) { s.smem[0].ReplaceGlobalDim(t, 1, 0) },
			sm.RuleMap, "smem[0]: global_dim[1] = 0 is outside 1 to 4294967295"},
		{"a stride off 16 bytes", func(_ *sm.Warp, t *sm.Thread, s *state) { s.smem[0].ReplaceGlobalStride(t, 0, 24) },
			sm.RuleMap, "global_stride[0] = 24 is not a multiple of 16"},
		{"an address off 16 bytes", func(_ *sm.Warp, t *sm.Thread, s *state) {
			sm.ReplaceGlobalAddress(t, &s.smem[0], rows0[1:])
		}, sm.RuleMap, "is not a multiple of 16"},
		{"fields that do not go together", func(w *sm.Warp, t *sm.Thread, s *state) {
			s.smem[0].ReplaceElemtype(t, tile.Uint8)
			published(w, s)
			t.PrefetchTensor(s.slot, 0, 0)
		}, sm.RuleMap, "as it has become: box row of 4 elements of Uint8 is 4 bytes, not a multiple of 16"},
		{"a tensor behind its memory", func(w *sm.Warp, t *sm.Thread, s *state) {
			s.smem[0].ReplaceGlobalDim(t, 1, 9)
			published(w, s)
			t.PrefetchTensor(s.slot, 0, 0)
		}, sm.RuleMap, "tensor of at least 144 bytes in global memory of 128"},
		{"more elements than copies count", func(w *sm.Warp, t *sm.Thread, s *state) {
			s.smem[0].ReplaceGlobalStride(t, 0, 0)
			s.smem[0].ReplaceGlobalDim(t, 1, 1<<31+1)
			published(w, s)
			t.PrefetchTensor(s.slot, 0, 0)
		}, sm.RuleMap, "dimension 1 of the map has 2147483649 elements, over 2^31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, m := range modes[:2] {
				slot, peers := new(sm.TMADescriptor), make(chan *sm.TMADescriptor, 1)
				faultOf(t, launch(t, in(m, pair(32)), func(b *sm.Block) {
					s := state{x: sm.Shared[int32](b, 4, 128), full: b.Barrier(), slot: slot}
					smem := b.TMADescriptors(2)
					s.smem = smem
					if b.ClusterRank() == 1 {
						peers <- &smem[0]
					}
					b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
						th := w.Thread(0)
						w.ClusterSync()
						if b.ClusterRank() == 0 {
							s.peer = <-peers
							s.smem[0].Store(th, map0)
							c.do(w, th, &s)
						}
						w.ClusterSync()
					}))
				}), c.rule, c.want)
			}
		})
	}
}

// TestDescriptorDeadlock: a lane of the warp does not come to the copy of its map.
func TestDescriptorDeadlock(t *testing.T) {
	for _, m := range modes[:2] {
		slot := new(sm.TMADescriptor)
		faultOf(t, launch(t, in(m, block(32)), func(b *sm.Block) {
			smem := b.TMADescriptor()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 7 {
					smem.Store(t, map0)
				}
				t.SyncWarp()
				if t.Rank() != 7 {
					slot.CopyFenceRelease(t, smem, sm.ScopeDevice)
				}
				t.SyncThreads()
			})
		}), sm.RuleDeadlock, "tensormap.cp_fenceproxy of warp 0: 1 of 32 threads missing: 7")
	}
}

// TestDescriptorShared: launches at the same time copy through a map that the host has made.
func TestDescriptorShared(t *testing.T) {
	slot := new(sm.TMADescriptor)
	slot.Set(map0)
	errs := make(chan error)
	for seed := range uint64(2) {
		go func() {
			cfg := sm.Config{Grid: sm.Dim3{X: 8}, Resident: 2, Block: sm.Dim3{X: 2}, Check: true, Seed: seed}
			errs <- sm.Launch(t.Context(), cfg, func(b *sm.Block) {
				x, full := sm.Shared[int32](b, 4, 128), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					slot.FenceAcquire(t, sm.ScopeDevice)
					t.SyncThreads()
					slot.FenceAcquire(t, sm.ScopeDevice)
					if t.Rank() == 1 {
						full.Init(t, 1)
						loadRow(t, x, slot, full, 2)
						full.WaitParity(t, 0)
					}
				})
			})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestDescriptorLaunches: a kernel makes the maps of a second, which acquires them, and a grid those of its next step.
func TestDescriptorLaunches(t *testing.T) {
	slots := make([]sm.TMADescriptor, 2)
	first := func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			slots[b.Idx.X].Store(t, map0)
			slots[b.Idx.X].ReplaceGlobalDim(t, 1, uint32(2+b.Idx.X))
			t.FenceTensorMapRelease(sm.ScopeDevice)
		})
	}
	second := func(acquires, together bool) sm.Kernel {
		return func(b *sm.Block) {
			x, full := sm.Shared[int32](b, 4, 128), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if together {
					slots[b.Idx.X].Store(t, map0)
					slots[b.Idx.X].ReplaceGlobalDim(t, 1, uint32(2+b.Idx.X))
					t.FenceTensorMapRelease(sm.ScopeDevice)
					t.GridSync()
				}
				full.Init(t, 1)
				other := 1 - b.Idx.X
				if acquires {
					slots[other].FenceAcquire(t, sm.ScopeDevice)
				}
				loadRow(t, x, &slots[other], full, 2)
				full.WaitParity(t, 0)
				got := x.Load(t, 3)
				assert(got == int32(11*other), "a map of %d rows has %d in the third", 2+other, got)
			})
		}
	}
	grid := sm.Config{Grid: sm.Dim3{X: 2}, Cooperative: true}
	for _, m := range modes {
		cfg := in(m, grid)
		if err := launch(t, cfg, first); err != nil {
			t.Fatalf("%s: %v", mode(m), err)
		}
		for _, together := range []bool{false, true} {
			if err := launch(t, cfg, second(true, together)); err != nil {
				t.Errorf("%s, together %v: %v", mode(m), together, err)
			}
			if m.Check {
				faultOf(t, launch(t, cfg, second(false, together)), sm.RuleProxy,
					"no fence.proxy.tensormap::generic.acquire comes ")
			}
		}
	}
}
