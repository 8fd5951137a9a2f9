package gemm_test

import (
	"testing"
	"time"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

func TestStatsString(t *testing.T) {
	for _, tc := range []struct {
		st   gemm.Stats
		want string
	}{
		{gemm.Stats{Kernel: "avx2", Inline: true, Elapsed: time.Millisecond}, "kernel avx2, inline, 1ms"},
		{
			gemm.Stats{Kernel: "amx", Route: "ring", Workers: 1, Depth: 1, TileM: 64, TileN: 32, TileK: 16, Tiles: 1, Stages: 1, Bytes: 5, Elapsed: time.Second, Copy: time.Millisecond},
			"kernel amx, ring, 1 worker, tile 64x32x16, 1 tile, depth 1, 1 stage, 5 bytes copied, 1s (copy 1ms, producer wait 0s, consumer wait 0s)",
		},
		{
			gemm.Stats{Kernel: "go", Route: "stream", Workers: 2, Depth: 3, TileM: 8, TileN: 8, TileK: 8, Tiles: 4, Stages: 6},
			"kernel go, stream, 2 workers, tile 8x8x8, 4 tiles, depth 3, 6 stages, 0 bytes copied, 0s (copy 0s, producer wait 0s, consumer wait 0s)",
		},
		{
			gemm.Stats{Kernel: "go", Route: "place", Workers: 2, TileM: 8, TileN: 9, TileK: 7, Tiles: 4},
			"kernel go, place, 2 workers, tile 8x9x7, 4 tiles, 0s (copy 0s, producer wait 0s, consumer wait 0s)",
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
		{0, 3, 3, nil, "inline"},
		{3, 3, 0, nil, "inline"},
		{3, 3, 3, nil, "inline"},
		{256, 256, 256, []gemm.Option{gemm.WithWorkers(2)}, map[bool]string{true: "place", false: "ring"}[k.Rows(asm.F32) != nil]},
		{4, 600, 2000, []gemm.Option{gemm.WithWorkers(2), gemm.WithKernel("go")}, "stream"},
		{200, 200, 200, []gemm.Option{gemm.WithDepth(2)}, "ring"},
		{20, 20, 20, []gemm.Option{gemm.WithDepth(2)}, "ring"},
		{20, 20, 20, []gemm.Option{gemm.WithTile(8, 8, 8)}, "ring"},
	} {
		var st gemm.Stats
		a, b, c := gemm.NewMatrix[float32](tc.m, tc.k), gemm.NewMatrix[float32](tc.k, tc.n), gemm.NewMatrix[float32](tc.m, tc.n)
		if err := gemm.Multiply(c, a, b, append(tc.opts, gemm.WithStats(&st))...); err != nil {
			t.Fatal(err)
		}
		ring := tc.want == "ring" || tc.want == "stream"
		if st.Route != tc.want || st.Inline != (tc.want == "inline") || (st.Depth > 0) != ring || (st.Stages > 0) != ring {
			t.Errorf("%d x %d x %d: %+v; want %s", tc.m, tc.n, tc.k, st, tc.want)
		}
	}
}

// TestShared says which products two workers share, by how fast a core multiplies.
func TestShared(t *testing.T) {
	processors(t, 2)
	defer gemm.PretendL2(1 << 20)()
	defer gemm.PretendIntel(false)()
	t.Run("f32", func(t *testing.T) {
		testShared[float32](t, "", []sharedCase{
			{48, 48, 48, true, "inline"}, {64, 64, 64, true, "place"}, {4, 256, 256, true, "place"}, {100, 100, 100, true, "place"},
			{48, 48, 48, false, "inline"}, {64, 64, 64, false, "inline"}, {4, 256, 256, false, "inline"}, {100, 100, 100, false, "place"},
		})
	})
	t.Run("bf16", func(t *testing.T) {
		testShared[bf16.BF16](t, "avx512bf16", []sharedCase{
			{64, 64, 64, true, "inline"}, {80, 80, 80, true, "place"}, {4, 300, 300, true, "inline"},
			{80, 80, 80, false, "inline"}, {100, 100, 100, false, "place"},
		})
	})
	t.Run("f16", func(t *testing.T) {
		testShared[float16.Float16](t, "avx512", []sharedCase{
			{64, 64, 64, true, "inline"}, {80, 80, 80, true, "place"}, {4, 450, 450, true, "inline"}, {4, 450, 450, false, "inline"},
		})
	})
}

// TestPaired says how large a B one and two workers take in place, by whose processor it is.
func TestPaired(t *testing.T) {
	processors(t, 2)
	k, err := asm.Select(asm.F32, "")
	switch {
	case err != nil:
		t.Fatal(err)
	case k.Rows(asm.F32) == nil || k.Edge() == nil:
		t.Skipf("%s does not take large products in place", k.Name)
	}
	defer gemm.PretendL2(1 << 20)()
	for _, tc := range []struct {
		n, workers int // B is 512 x n: 2 KB for a column
		intel      bool
		want       string
	}{
		{512, 1, true, "inline"}, {544, 1, true, "ring"}, {768, 1, false, "inline"}, {800, 1, false, "ring"},
		{896, 2, true, "place"}, {928, 2, true, "ring"}, {1536, 2, false, "place"}, {1568, 2, false, "ring"},
	} {
		restore := gemm.PretendIntel(tc.intel)
		var st gemm.Stats
		a, b, c := gemm.NewMatrix[float32](300, 512), gemm.NewMatrix[float32](512, tc.n), gemm.NewMatrix[float32](300, tc.n)
		err := gemm.Multiply(c, a, b, gemm.WithWorkers(tc.workers), gemm.WithStats(&st))
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if st.Route != tc.want {
			t.Errorf("300 x %d x 512 on %d workers, Intel %v: %v; want %s", tc.n, tc.workers, tc.intel, st, tc.want)
		}
	}
}

type sharedCase struct {
	m, n, k int
	halves  bool
	want    string
}

// testShared checks the cases if the kernel is the one that is named, or reads unpacked operands if none is.
func testShared[T gemm.Element](t *testing.T, kernel string, cases []sharedCase) {
	k, err := asm.Select(typeOf[T](), "")
	switch {
	case err != nil:
		t.Fatal(err)
	case kernel != "" && k.Name != kernel, kernel == "" && k.Unpacked(typeOf[T]()) == nil:
		t.Skipf("what %s multiplies is shared otherwise", k.Name)
	}
	for _, tc := range cases {
		restore := gemm.PretendHalves(tc.halves)
		var st gemm.Stats
		a, b, c := gemm.NewMatrix[T](tc.m, tc.k), gemm.NewMatrix[T](tc.k, tc.n), gemm.NewMatrix[float32](tc.m, tc.n)
		err := gemm.Multiply(c, a, b, gemm.WithStats(&st))
		restore()
		if err != nil {
			t.Fatal(err)
		}
		if st.Route != tc.want {
			t.Errorf("%d x %d x %d, halves %v: %v; want %s", tc.m, tc.n, tc.k, tc.halves, st, tc.want)
		}
	}
}
