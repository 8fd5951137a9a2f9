package sm_test

import (
	"runtime"
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestWarpAllocatesNothing: neither does SyncWarp, nor what lanes exchange.
func TestWarpAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	const rounds = 2000
	var before, after runtime.MemStats
	err := launch(t, block(32), func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			mask := uint32(0xffff) << (t.Lane() / 16 * 16)
			for i := range rounds + 1 {
				if i < 2 {
					t.SyncWarp()
					if i == 1 && t.Lane() == 0 {
						runtime.ReadMemStats(&before)
					}
				}
				t.SyncWarp()
				t.SyncWarp(mask)
				sm.Shfl(t, sm.FullMask, float32(i), i)
				sm.ShflXor(t, mask, int64(i), 1, 4)
				t.Ballot(mask, i%2 == 0)
				sm.MatchAny(t, sm.FullMask, uint32(i))
				sm.ReduceSync(t, tile.ReduceAdd, sm.FullMask, uint32(i))
			}
			if t.Lane() == 0 {
				runtime.ReadMemStats(&after)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := after.Mallocs - before.Mallocs; n > rounds {
		t.Errorf("%d allocations in %d rounds of 32 lanes", n, rounds)
	}
}
