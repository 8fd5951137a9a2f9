package gemm_test

import (
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

func TestStatsString(t *testing.T) {
	for _, tc := range []struct {
		st   gemm.Stats
		want string
	}{
		{
			gemm.Stats{Kernel: "avx2", Inline: true, Route: "caller", Elapsed: time.Millisecond},
			"kernel avx2, caller, 1ms",
		},
		{
			gemm.Stats{Kernel: "amx", Route: "ring", Workers: 1, Depth: 1, TileM: 64, TileN: 32, TileK: 16,
				Tiles: 1, Stages: 1, Bytes: 5, Elapsed: time.Second, Copy: time.Millisecond},
			"kernel amx, ring, 1 worker, tile 64x32x16, 1 tile, depth 1, 1 stage, 5 bytes copied, " +
				"1s (copy 1ms, producer wait 0s, consumer wait 0s)",
		},
		{
			gemm.Stats{Kernel: "go", Route: "columns", Workers: 2, Depth: 3, TileM: 8, TileN: 8, TileK: 8,
				Tiles: 4, Stages: 6},
			"kernel go, columns, 2 workers, tile 8x8x8, 4 tiles, depth 3, 6 stages, 0 bytes copied, " +
				"0s (copy 0s, producer wait 0s, consumer wait 0s)",
		},
		{
			gemm.Stats{Kernel: "go", Route: "slabs", Workers: 2, TileM: 8, TileN: 9, TileK: 7, Tiles: 4},
			"kernel go, slabs, 2 workers, tile 8x9x7, 4 tiles, 0s (copy 0s, producer wait 0s, consumer wait 0s)",
		},
	} {
		if got := tc.st.String(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestStatsRoute names the ways of products, and says which have a ring.
func TestStatsRoute(t *testing.T) {
	processors(t, 2)
	k, err := asm.Select(asm.F32, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		m, n, k int
		opts    []gemm.Option
		want    string
	}{
		{0, 3, 3, nil, "caller"},
		{3, 3, 0, nil, "caller"},
		{3, 3, 3, nil, "caller"},
		{256, 256, 256, []gemm.Option{gemm.WithWorkers(2)},
			map[bool]string{true: "slabs", false: "ring"}[k.InRows(asm.F32)]},
		{4, 600, 2000, []gemm.Option{gemm.WithWorkers(2), gemm.WithKernel("go")}, "columns"},
		{200, 200, 200, []gemm.Option{gemm.WithDepth(2)}, "ring"},
		{20, 20, 20, []gemm.Option{gemm.WithDepth(2)}, "ring"},
		{20, 20, 20, []gemm.Option{gemm.WithTile(8, 8, 8)}, "ring"},
	} {
		var st gemm.Stats
		a, b := gemm.NewMatrix[float32](tc.m, tc.k), gemm.NewMatrix[float32](tc.k, tc.n)
		c := gemm.NewMatrix[float32](tc.m, tc.n)
		if err := gemm.Multiply(c, a, b, append(tc.opts, gemm.WithStats(&st))...); err != nil {
			t.Fatal(err)
		}
		ring := tc.want == "ring" || tc.want == "columns"
		if st.Route != tc.want || st.Inline != (tc.want == "caller") ||
			(st.Depth > 0) != ring || (st.Stages > 0) != ring {
			t.Errorf("%d x %d x %d: %+v; want %s", tc.m, tc.n, tc.k, st, tc.want)
		}
	}
}
