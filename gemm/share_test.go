package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestShare compares products whose K workers share out, and dot products whose blocks are summed side by side, with
// those of the ring, bit for bit: for all layouts, strides and odd ends of K.
func TestShare(t *testing.T) {
	processors(t, 16)
	t.Run("f32-f32", testShare[float32, float32])
	t.Run("f64-f64", testShare[float64, float64])
	t.Run("f32-bf16", testShare[bf16.BF16, float32])
	t.Run("bf16-f32", testShare[float32, bf16.BF16])
	t.Run("bf16-bf16", testShare[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testShare[float32, float16.Float16])
	t.Run("f16-f16", testShare[float16.Float16, float16.Float16])
}

func testShare[O gemm.Output, I gemm.Element](t *testing.T) {
	block := typeOf[I]().Block()
	cases := []struct {
		m, n, k, workers int
		shared           bool // surely
	}{
		{1, 1, 8*block - 1, 4, false}, {1, 1, 8*block + 1, 4, false}, {1, 1, 40 * block, 1, false},
		{1, 1, 300*block + 77, 3, true}, {1, 2, 140*block - 9, 2, true}, {2, 2, 70*block + 130, 16, true},
		{3, 1, 33 * block, 2, false}, {4, 4, 65*block + 1, 5, false}, {2, 4, 65*block + 1, 5, false},
		{1, 6, 65*block + 1, 5, true}, {1, 16, 39*block + 5, 2, false}, {3, 3, 20*block - 1, 3, false},
		{2, 8, 66*block - 31, 4, false}, {16, 1, 9*block + 100, 3, false}, {1, 1, 150*block + block/2, 16, true},
		{64, 64, 32 * block, 16, true}, {30, 33, 20*block + 5, 9, false}, {8, 32, 16*block - 3, 16, true},
		{5, 70, 17*block + 9, 6, false}, {1, 1024, 1024, 16, false}, {3, 1500, 4*block + 1, 16, false},
		{17, 20, 50*block + 1, 12, true},
	}
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for i, tc := range cases {
			if slowKernel(k.Name) && (i > 3 || tc.k > 100*block) ||
				k.Arithmetic != asm.Native && i%4 > 0 || (testing.Short() || raceEnabled) && i%3 > 0 {
				continue
			}
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k, opts...)
				s.seed, s.padC = uint64(i), i%3
				for layout := range 4 {
					if i >= 15 && layout != i%4 {
						continue // operands are slow to build
					}
					s.ta, s.tb, s.tc = layout&1 != 0, layout&2 != 0, (layout+i)%3 == 0
					s.padA, s.padB = []int{0, 1, 2, 3}[(layout+i)%4], []int{0, 2, 0, 5}[(layout+i/2)%4]
					if s.alpha, s.beta = 1, 0; (layout+i)%4 == 1 {
						s.alpha, s.beta = 0.75, -1.5
					}
					o := build[O, I](t, s)
					old := slices.Clone(o.c.Data)
					multiply := func(ring, packed bool, workers int) (gemm.Stats, []O) {
						copy(o.c.Data, old)
						s.ring, s.packed, s.opts = ring, packed, append(slices.Clip(opts), gemm.WithWorkers(workers))
						st, err := o.multiply(s)
						if err != nil {
							t.Fatal(err)
						}
						checkGaps(t, s, o.c, old)
						return st, dense(o.c)
					}
					_, want := multiply(true, false, 1)
					for _, packed := range []bool{false, true} {
						for _, workers := range []int{1, tc.workers} {
							st, got := multiply(false, packed, workers)
							same(t, got, want, s.n)
							shared := st.Route == "slabs" && st.TileK < tc.k
							if shared && (workers == 1 || k.Arithmetic != asm.Native) {
								t.Errorf("shares K: %v", st)
							}
							if tc.shared && !shared && workers > 1 &&
								typeOf[I]() == asm.F32 && typeOf[O]() == asm.F32 && k.Name == "avx512" &&
								!packed && !s.tc && s.padA+s.padB == 0 {
								t.Errorf("layout %d does not share K: %v", layout, st)
							}
						}
					}
					o.free()
				}
			})
		}
	})
}

// TestShareAllocations checks that products whose K is shared allocate nothing.
func TestShareAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the detector allocates")
	}
	processors(t, 16)
	for _, size := range [][3]int{{1, 1, 1 << 18}, {2, 2, 1 << 17}, {64, 64, 8192}} {
		m, n, k := size[0], size[1], size[2]
		a, b, c := gemm.NewMatrix[float32](m, k), gemm.NewMatrix[float32](k, n), gemm.NewMatrix[float32](m, n)
		for _, alpha := range []float32{1, 0.5} {
			e, err := gemm.New(gemm.WithWorkers(16))
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprint(size, "/", alpha), func(t *testing.T) {
				allocatesNothing(t, 20, func() error { return e.Multiply(c, a, b, gemm.WithAlpha(alpha)) })
			})
			e.Close()
		}
	}
}

// TestDotsInGo has the kernel in Go read columns that lie beside each other, in matrices that fill their places in the
// heap, one after the other: the race detector lets no pointer be in the next.
func TestDotsInGo(t *testing.T) {
	const k = 8 << 10
	a, c := gemm.NewMatrix[float32](1, k), gemm.NewMatrix[float32](1, 2)
	fill(a, func() float32 { return 1 })
	var all [20]gemm.Matrix[float32]
	for i := range all {
		all[i] = gemm.NewMatrix[float32](k, 2)
		fill(all[i], func() float32 { return float32(i) })
	}
	for i, b := range all {
		if err := gemm.Multiply(c, a, b, gemm.WithKernel("go")); err != nil {
			t.Fatal(err)
		}
		if want := float32(i * k); c.At(0, 0) != want || c.At(0, 1) != want {
			t.Errorf("%v, want %v", c.Data, want)
		}
	}
}
