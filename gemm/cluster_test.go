package gemm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestLargeCluster compares the large cluster tile of a machine with many
// workers and a large cache, several CTAs that share B, with the usual one.
func TestLargeCluster(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("takes seconds without assembly")
	}
	s := size(1800, 1300, 300, gemm.WithWorkers(6))
	s.ring = true
	want := product[float32, float32](t, s)
	defer gemm.PretendIntel(true)() // whose large last caches have room for them
	if st := sameAs[float32, float32](t, s, want); st.TileM >= 1000 || st.TileN < 1300 || st.Tiles != 1 {
		t.Errorf("%v: want one tile of several CTAs", st)
	}
	c := gemm.NewMatrix[float32](4096, 4096)
	words := gemm.NewMatrix[float32](4096, 4096)
	pairs := gemm.NewMatrix[bf16.BF16](4096, 4096)
	for _, x := range []struct {
		ab   gemm.AnyMatrix
		most int // MiB, more where a kernel widens pairs
	}{{words, 32}, {pairs, 48}} {
		if n, err := gemm.RingBytes(testEngine, c, x.ab, x.ab, gemm.WithWorkers(16)); err != nil || n > x.most<<20 {
			t.Errorf("the ring takes %d bytes, error %v; want at most %d MiB", n, err, x.most)
		}
	}
}
