package gemm_test

import (
	"testing"
	"time"

	"example.com/leafhopper/gemm"
)

func TestStatsString(t *testing.T) {
	for _, tc := range []struct {
		st   gemm.Stats
		want string
	}{
		{gemm.Stats{Kernel: "avx2", Inline: true, Elapsed: time.Millisecond}, "kernel avx2, inline, 1ms"},
		{
			gemm.Stats{Kernel: "amx", Workers: 1, Depth: 1, TileM: 64, TileN: 32, TileK: 16, Tiles: 1, Stages: 1, Bytes: 5, Elapsed: time.Second, Copy: time.Millisecond},
			"kernel amx, 1 worker, depth 1, tile 64x32x16, 1 tile, 1 stage, 5 bytes copied, 1s (copy 1ms, producer wait 0s, consumer wait 0s)",
		},
		{
			gemm.Stats{Kernel: "go", Workers: 2, Depth: 3, TileM: 8, TileN: 8, TileK: 8, Tiles: 4, Stages: 6},
			"kernel go, 2 workers, depth 3, tile 8x8x8, 4 tiles, 6 stages, 0 bytes copied, 0s (copy 0s, producer wait 0s, consumer wait 0s)",
		},
	} {
		if got := tc.st.String(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
