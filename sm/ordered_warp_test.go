package sm_test

import (
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// warpUnordered are kernels of a warp in which what lanes exchange stands where SyncWarp is needed.
func warpUnordered() []unordered {
	return []unordered{{
		name: "Shfl in place of SyncWarp", cfg: block(32), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Lane(), 0)
				t.SyncWarp()
				x.Store(t, t.Lane(), 1) // first
				if sm.ShflXor(t, sm.FullMask, t.Lane(), 31); !broken {
					t.SyncWarp()
				}
				x.Load(t, 31-t.Lane()) // second
			})
		},
	}, {
		name: "a vote and a reduction in place of SyncWarp", cfg: block(20), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x := sm.Shared[int32](b, 20, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Lane(), 1) // first
				t.All(sm.FullMask, true)
				if sm.ReduceSync(t, tile.ReduceAdd, sm.FullMask, uint32(1)); !broken {
					t.SyncWarp()
				}
				x.Load(t, 19-t.Lane()) // second
			})
		},
		also: []sm.Rule{sm.RuleUnwritten},
	}}
}
