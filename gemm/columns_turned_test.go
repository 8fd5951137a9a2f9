package gemm_test

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestTurned multiplies columns along a K that takes several calls of a kernel,
// whole blocks of it and not, and along one so short that a call takes several tiles of
// columns: with AMX, and where AVX-512 is carried out in halves, and in float32 on Intel's processors,
// for rows of A that are whole panels of columns or nearly so; and there kernels for few rows read B again
// for other rows of A. The bits are those of the ring.
func TestTurned(t *testing.T) {
	processors(t, 2)
	t.Run("bf16-f32", testTurned[float32, bf16.BF16])
	t.Run("f16-f32", testTurned[float32, float16.Float16])
	t.Run("f32-f32", testTurned[float32, float32])
	t.Run("f64-f64", testTurned[float64, float64])
	t.Run("f32-bf16", testTurned[bf16.BF16, float32])
}

func testTurned[O gemm.Output, I gemm.Element](t *testing.T) {
	type shape struct{ m, n, k int }
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		shapes := []shape{
			{9, 77, 8192}, {19, 77, 17000}, {29, 77, 20_011}, {101, 301, 7011}, {41, 1303, 333}, {7, 677, 461},
		}
		switch {
		case raceEnabled || slowKernel(k.Name) && !gemm.WaitsForB(k):
			t.Skip("it takes long")
		case !gemm.WaitsForB(k) && (k.StreamRows(typeOf[I](), true) == 0 || k.NR%32 != 0):
			t.Skip("it reads columns as others do")
		case !gemm.WaitsForB(k):
			shapes = []shape{{9, 301, 8192}, {16, 515, 4111}, {11, 1303, 333}, {13, 77, 9001}}
			processors(t, 6)
			if !k.InRows(typeOf[I]()) {
				break
			}
			shapes = append(shapes, []shape{
				{28, 301, 8192}, {31, 301, 3333}, {32, 1303, 1024}, {60, 515, 4111},
				{64, 1303, 333}, {63, 677, 461}, {64, 515, 1030}, {96, 677, 2100},
			}...)
			if k.KPack == 1 {
				shapes = append(shapes, shape{125, 515, 1700}, shape{32, 1536, 4100})
			}
		}
		for i, tc := range shapes {
			s := size(tc.m, tc.n, tc.k, append(slices.Clip(opts), gemm.WithDepth(2))...)
			s.tb, s.ta, s.seed, s.padA, s.padB, s.padC = true, i%3 == 1, uint64(i), i%2, i%3, i%4
			if i == 3 {
				s.alpha, s.beta = -0.5, 2
			}
			o := build[O, I](t, s)
			old := slices.Clone(o.c.Data)
			again(t, o, s, old)
			want := dense(o.c)
			for _, way := range []struct {
				intel   bool
				workers int
			}{{false, 1}, {false, 2}, {false, 6}, {true, 1}, {true, 4}, {true, 6}} {
				workers := way.workers
				if way.intel && (gemm.WaitsForB(k) || k.KPack > 1) {
					continue
				}
				restore, restoreIntel := gemm.PretendHalves(!way.intel), gemm.PretendIntel(way.intel)
				s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
				path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...)
				if err != nil {
					t.Error(err)
				}
				if st := again(t, o, s, old); st.Plan.String() != path.Plan.String() {
					t.Errorf("%v: want %v", st.Plan, path.Plan)
				}
				same(t, dense(o.c), want, s.n)
				checkGaps(t, s, o.c, old)
				restoreIntel()
				restore()
			}
			o.free()
		}
	})
}
