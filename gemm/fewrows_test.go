package gemm_test

import (
	"fmt"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestFewRows compares products of few rows by a small B, plain, transposed or packed,
// with those of the ring, bit for bit.
func TestFewRows(t *testing.T) {
	processors(t, 2)
	defer gemm.PretendHalves(false)() // which would have two workers share more of them
	t.Run("bf16-f32", testFewRows[float32, bf16.BF16])
	t.Run("bf16-bf16", testFewRows[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testFewRows[float32, float16.Float16])
	t.Run("f32-f32", testFewRows[float32, float32])
	t.Run("f64-f64", testFewRows[float64, float64])
	t.Run("f32-f16", testFewRows[float16.Float16, float32])
}

func testFewRows[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		streams := false
		for i, tc := range []struct{ m, n, k int }{
			{1, 1, 1}, {1, 300, 200}, {1, 37, 1100}, {2, 129, 65}, {2, 33, 1025}, {3, 200, 300}, {4, 257, 64},
			{5, 31, 600}, {6, 400, 400}, {4, 5000, 8}, {3, 3, 9000}, {2, 300, 120}, {1, 500, 400},
		} {
			if (raceEnabled || testing.Short()) && (i%3 > 0 || tc.m*tc.n*tc.k > 1<<20) {
				continue
			}
			for _, layout := range []struct{ ta, tb, packed, tc bool }{
				{}, {tb: true}, {ta: true, packed: true}, {ta: true}, {packed: true, tc: true},
			} {
				if slowKernel(k.Name) && tc.n*tc.k > 1<<13 {
					continue
				}
				t.Run(fmt.Sprint(tc, layout), func(t *testing.T) {
					s := size(tc.m, tc.n, tc.k)
					s.ta, s.tb, s.tc = layout.ta, layout.tb, layout.tc
					s.seed, s.padA, s.padB, s.padC, s.atStart = uint64(i), i%4, i%3, i%2, i&1 != 0
					if i%3 == 1 {
						s.alpha, s.beta = 0.75, -1.5
					}
					s.opts = append(opts[:len(opts):len(opts)], gemm.WithDepth(1))
					want := product[O, I](t, s)
					s.opts, s.packed = opts, layout.packed
					o := build[O, I](t, s)
					defer o.free()
					path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...)
					if err != nil {
						t.Fatal(err)
					}
					is := path.FewRows()
					streams = streams || is
					sameAs[O, I](t, s, want)
				})
			}
		}
		if !streams && k.StreamRows(typeOf[I](), true) > 0 {
			t.Error("nothing was multiplied by the kernels that stream")
		}
	})
}

// TestFewRowsShared has many workers take columns of few rows each; the bits are those of one worker.
func TestFewRowsShared(t *testing.T) {
	processors(t, 16)
	defer gemm.PretendL2(2 << 20)()
	t.Run("bf16", testFewRowsShared[float32, bf16.BF16])
	t.Run("f16", testFewRowsShared[bf16.BF16, float16.Float16])
	t.Run("f32", testFewRowsShared[float32, float32])
	t.Run("f64-f64", testFewRowsShared[float64, float64])
}

func testFewRowsShared[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.StreamRows(typeOf[I](), true) == 0 {
			t.Skip("does not read B where it lies")
		}
		if slowKernel(k.Name) {
			t.Skip("takes long")
		}
		routes := map[string]bool{}
		for i, tc := range []struct {
			m, n, k    int
			tb, packed bool
			workers    int
		}{
			{1, 600, 450, true, false, 16}, {3, 500, 531, true, false, 7}, {1, 600, 450, true, false, 2},
			{1, 600, 450, false, false, 16}, {2, 450, 600, false, true, 16}, {1, 60, 50, true, false, 16},
			{1, 4500, 1000, false, false, 16}, {4, 1200, 1000, true, false, 5}, {2, 2100, 2000, true, false, 5},
		} {
			if (raceEnabled || testing.Short()) && i%2 > 0 {
				continue
			}
			if tc.m > k.StreamRows(typeOf[I](), tc.tb) {
				continue
			}
			s := size(tc.m, tc.n, tc.k)
			s.tb, s.packed, s.seed, s.padC = tc.tb, tc.packed, uint64(i), i%2
			if i%3 == 1 {
				s.alpha, s.beta = 0.75, -1.5
			}
			s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(1))
			want := product[O, I](t, s)
			s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(tc.workers))
			routes[sameAs[O, I](t, s, want).Route] = true
		}
		if !routes["slabs"] || !routes["columns"] {
			t.Errorf("the routes are %v", routes)
		}
	})
}
