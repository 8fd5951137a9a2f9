package sm_test

import (
	"context"
	"fmt"

	"example.com/leafhopper/sm"
)

// A tile is transposed: written by rows, read by columns. Its rows are 32 words long, so that a column lies in one
// bank, or 33.
func ExampleBanks() {
	for _, pitch := range []int{32, 33} {
		banks := new(sm.Banks)
		cfg := sm.Config{Block: sm.Dim3{X: 32, Y: 8}, Banks: banks}
		err := sm.Launch(context.Background(), cfg, func(b *sm.Block) {
			tile := sm.Shared[float32](b, 32*pitch, 16)
			b.Threads(func(t *sm.Thread) {
				x, y := t.Idx().X, t.Idx().Y
				for i := y; i < 32; i += 8 {
					tile.Store(t, i*pitch+x, float32(32*i+x))
				}
				t.SyncThreads()
				for i := y; i < 32; i += 8 {
					tile.Load(t, x*pitch+i)
				}
			})
		})
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(banks)
	}
	// Output:
	// example_banks_test.go:25 Load of tile: 32 requests, 1024 wavefronts, 32.0 each, 1.0 at best (32-way)
	// example_banks_test.go:21 Store of tile: 32 requests, 32 wavefronts, 1.0 each, 1.0 at best
	// example_banks_test.go:21 Store of tile: 32 requests, 32 wavefronts, 1.0 each, 1.0 at best
	// example_banks_test.go:25 Load of tile: 32 requests, 32 wavefronts, 1.0 each, 1.0 at best
}
