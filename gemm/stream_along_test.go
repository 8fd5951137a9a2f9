package gemm_test

import (
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestStreamAlong multiplies columns along a K that takes several calls of a kernel,
// whole blocks of it and not, and along one so short that a call takes several tiles of
// columns: with AMX, and where AVX-512 is carried out in halves for rows of A that are whole
// panels of columns or nearly so. The bits are those of the ring.
func TestStreamAlong(t *testing.T) {
	processors(t, 2)
	t.Run("bf16-f32", testStreamAlong[float32, bf16.BF16])
	t.Run("f32-f32", testStreamAlong[float32, float32])
	t.Run("f32-bf16", testStreamAlong[bf16.BF16, float32])
}

func testStreamAlong[O gemm.Output, I gemm.Element](t *testing.T) {
	type shape struct{ m, n, k int }
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		shapes := []shape{{9, 77, 8192}, {19, 77, 17000}, {29, 77, 20_011}, {101, 301, 7011}, {41, 1303, 333}, {7, 677, 461}}
		most := 6 // workers
		switch {
		case raceEnabled || slowKernel(k.Name) && !k.Starves():
			t.Skip("it takes long")
		case !k.Starves() && (k.Rows(typeOf[I]()) == nil || k.Narrow(typeOf[I]()) || k.NR%32 != 0):
			t.Skip("it reads columns as others do")
		case !k.Starves():
			shapes, most = []shape{{28, 301, 8192}, {31, 301, 3333}, {32, 1303, 1024}, {60, 515, 4111}, {64, 1303, 333}, {63, 677, 461}, {64, 515, 1030}, {96, 677, 2100}}, 2
			if k.KPack == 1 {
				shapes = append(shapes, shape{125, 515, 1700})
			}
			processors(t, 6)
		}
		defer gemm.PretendHalves(true)()
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
			for _, workers := range []int{1, 2, 6} {
				s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
				is, err := gemm.StreamsAlong(testEngine, o.c, o.a, o.b, s.opts...)
				if err != nil {
					t.Fatal(err)
				}
				if wants := workers <= most; is != wants && !k.Starves() {
					t.Errorf("%v on %d workers: columns are rows: %v, want %v", tc, workers, is, wants)
				}
				if st := again(t, o, s, old); st.Route != "stream" && (k.Starves() || is || tc.m <= 64) {
					t.Errorf("%v: want a stream", st)
				}
				same(t, dense(o.c), want, s.n)
				checkGaps(t, s, o.c, old)
			}
			o.free()
		}
		if k.Starves() {
			return
		}
		// Rows missing to panels, more rows than are read so, and a short K.
		others := []shape{{27, 677, 461}, {59, 677, 461}, {65, 677, 461}, {97, 677, 461}, {160, 677, 461}, {32, 2000, 255}}
		if k.KPack > 1 {
			others = append(others, shape{128, 677, 461})
		}
		for _, tc := range others {
			s := size(tc.m, tc.n, tc.k, append(slices.Clip(opts), gemm.WithWorkers(1))...)
			s.tb = true
			o := build[O, I](t, s)
			is, err := gemm.StreamsAlong(testEngine, o.c, o.a, o.b, s.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if is {
				t.Errorf("%v: columns are rows", tc)
			}
			o.free()
		}
	})
}
