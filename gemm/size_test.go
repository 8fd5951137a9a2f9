package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// around returns the positive numbers next to the given ones.
func around(ns ...int) (all []int) {
	seen := map[int]bool{}
	for _, n := range ns {
		for _, x := range []int{n - 1, n, n + 1} {
			if x > 0 && !seen[x] {
				seen[x] = true
				all = append(all, x)
			}
		}
	}
	return all
}

// TestEdges takes small tiles over every combination of sizes next to the
// dimensions of the register tile, the tile, and several of both, with every
// kernel.
func TestEdges(t *testing.T) {
	for _, k := range asm.Kernels() {
		t.Run(k.Name, func(t *testing.T) {
			if err := k.Supported(); err != nil {
				t.Skip(err)
			}
			if k.Arithmetic != gemm.Native {
				t.Skip("its sums are held to bits, not to this bound")
			}
			const depth = 3
			tm, tn, tk := 2*k.MR, 2*k.NR, max(4, k.KStep(asm.BF16))*k.KPack
			ms, ns := around(1, k.MR, tm, 2*tm+k.MR), around(1, k.NR, tn, tn+k.NR)
			ks := around(1, k.KPack, tk, depth*tk, 2*depth*tk)
			if testing.Short() || raceEnabled || slowKernel(k.Name) {
				ms, ns, ks = ms[len(ms)-4:], ns[len(ns)-4:], ks[len(ks)-5:]
			}
			if raceEnabled && slowKernel(k.Name) {
				ms, ns, ks = ms[:2], ns[:2], ks[:3]
			}
			verify := verify[float32, float32]
			switch {
			case k.Accepts(asm.F64):
				verify = pairings[len(pairings)-1].verify
			case !k.Accepts(asm.F32):
				verify = verifyBF16
			}
			i := 0
			for _, m := range ms {
				for _, n := range ns {
					for _, kk := range ks {
						s := size(m, n, kk, gemm.WithKernel(k.Name), gemm.WithTile(tm, tn, tk), gemm.WithDepth(depth))
						s.ring = true
						// Layouts and factors take turns.
						s.ta, s.tb, s.tc, s.atStart = i&1 != 0, i&2 != 0, i%7 == 0, i%5 == 0
						if i%3 == 0 {
							s.alpha, s.beta, s.padC = -1, 0.5, 1
						}
						mostM, mostN := tm, tn
						if s.tc { // computed as C' = B'·A'
							mostM, mostN = roundUp(tm, k.NR), roundUp(tn, k.MR)
						}
						if st := verify(t, s); st.Inline || st.TileM > mostM || st.TileN > mostN || st.TileK > tk {
							t.Fatalf("%v: want a tile of at most %d x %d x %d", st, mostM, mostN, tk)
						}
						i++
					}
				}
			}
		})
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// TestTileTurned names a tile of a transposed C, and finds it in the statistics.
func TestTileTurned(t *testing.T) {
	const m, n, k = 100, 2000, 64
	a, b := gemm.NewMatrix[float32](m, k), gemm.NewMatrix[float32](k, n)
	for i, c := range []gemm.Matrix[float32]{gemm.NewMatrix[float32](m, n), gemm.NewMatrix[float32](n, m).T()} {
		var st gemm.Stats
		if err := gemm.Multiply(c, a, b, gemm.WithTile(64, 512, 64), gemm.WithStats(&st)); err != nil {
			t.Fatal(err)
		}
		if st.TileM < 64 || st.TileM > 96 || st.TileN < 512 || st.TileN > 544 || st.Tiles != 8 {
			t.Errorf("C transposed %v: %v, want 8 tiles of about 64 x 512", i == 1, st)
		}
	}
}

var verifyBF16 = verify[float32, bf16.BF16]

// TestOwnTiles takes sizes next to the tiles that the engine chooses for itself,
// read from the statistics of a large product, in one dimension at a time.
func TestOwnTiles(t *testing.T) {
	probe := func(m, n, k int) gemm.Stats {
		s := size(m, n, k)
		s.ring = true
		return verifyBF16(t, s)
	}
	large := 5000
	if raceEnabled || testing.Short() {
		large = 1500
	}
	tile := probe(large, 40, 3).TileM
	cases := [][3]int{}
	for _, m := range around(tile, 2*tile, 4*tile, 128, 512, 1024) {
		cases = append(cases, [3]int{m, 5, 3})
	}
	tile = probe(40, large, 3).TileN
	for _, n := range around(tile, 2*tile, 128, 512, 1024) {
		cases = append(cases, [3]int{3, n, 5})
	}
	tile = probe(40, 40, large).TileK
	for _, k := range around(tile, 2*tile, 3*tile, 4*tile, 512, 1024) {
		cases = append(cases, [3]int{9, 33, k})
	}
	for _, c := range cases {
		probe(c[0], c[1], c[2])
	}
}

// TestSmallest walks through all sizes up to a few, the way that their callers
// take.
func TestSmallest(t *testing.T) {
	for _, p := range pairings {
		t.Run(p.name, func(t *testing.T) {
			for m := range 5 {
				for n := range 5 {
					for k := range 5 {
						s := size(m, n, k)
						s.padA, s.padB, s.padC = m&1, n&1, k&1
						st := p.verify(t, s)
						if !st.Inline || st.Kernel == "" {
							t.Fatalf("%dx%dx%d: %v: want inline", m, n, k, st)
						}
						s.alpha, s.beta, s.tc = 2, 3, true
						p.verify(t, s)
					}
				}
			}
		})
	}
}

// TestEmpty checks that without any K, C becomes beta·C, whatever its size.
func TestEmpty(t *testing.T) {
	sizes := [][2]int{{1, 1}, {3, 65}, {70, 64}, {0, 7}, {7, 0}, {5000, 33}, {33, 5000}}
	if raceEnabled {
		sizes = sizes[:5]
	}
	for _, d := range sizes {
		for _, beta := range []float32{0, 1, -0.5} {
			s := size(d[0], d[1], 0)
			s.beta, s.padC = beta, 1
			for _, p := range pairings {
				p.verify(t, s)
			}
			s.tc = true
			pairings[0].verify(t, s)
		}
	}
	// Matrices without elements need no memory and no stride.
	var c, a, b gemm.Matrix[float32]
	if err := gemm.Multiply(c, a, b); err != nil {
		t.Error(err)
	}
	c = gemm.NewMatrix[float32](2, 3)
	c.Set(1, 2, 7)
	a, b = gemm.NewMatrix[float32](2, 0), gemm.NewMatrix[float32](0, 3)
	if err := gemm.Multiply(c, a, b); err != nil {
		t.Error(err)
	}
	if err := gemm.Multiply(c, b.T().T().T().T(), gemm.NewMatrix[float32](3, 3)); err == nil {
		t.Error("a C of 2x3 took an A of 0x3")
	}
	if c.At(1, 2) != 0 {
		t.Errorf("C is %v, want 0", c.At(1, 2))
	}
}

// TestGuard multiplies with pages that fault right before and right after
// every operand, at widths around those of vectors, for all types and layouts.
func TestGuard(t *testing.T) {
	if !guardPages {
		t.Skip("no guard pages")
	}
	widths := []int{1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 65}
	if testing.Short() {
		widths = []int{1, 7, 17, 33}
	}
	for _, p := range pairings {
		for _, name := range kernels(p.in) {
			t.Run(fmt.Sprint(p.name, "/", name), func(t *testing.T) {
				for i, w := range widths {
					x, y := widths[(i+5)%len(widths)], widths[(i+11)%len(widths)]
					if name == "gobf16" && w > 20 {
						continue // its loads are those of every Go kernel
					}
					s := size(w, x, y, gemm.WithKernel(name), gemm.WithTile(16, 32, 16))
					eachLayout(s, func(_ string, s spec) {
						s.ring = i&1 != 0
						p.verify(t, s)
						s.atStart = true
						s.beta = 1
						p.verify(t, s)
					})
				}
			})
		}
	}
}
