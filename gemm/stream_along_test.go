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
// columns: with AMX, and with AVX-512 for rows of A that are whole panels of columns or nearly so.
// The bits are those of the ring.
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
		switch {
		case raceEnabled || slowKernel(k.Name) && !k.Starves():
			t.Skip("it takes long")
		case !k.Starves() && (k.Rows(typeOf[I]()) == nil || k.Narrow(typeOf[I]()) || k.NR%32 != 0):
			t.Skip("it reads columns as others do")
		case !k.Starves():
			shapes = []shape{{28, 301, 8192}, {31, 301, 3333}, {32, 1303, 1024}, {60, 515, 4111}, {64, 1303, 333}, {63, 677, 461}, {64, 515, 1030}, {96, 4096, 1024}, {32, 1536, 4100}}
			processors(t, 6)
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
			for _, workers := range []int{1, 2, 4, 6} {
				s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
				path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...)
				if err != nil {
					t.Error(err)
				}
				is := path.StreamsAlong
				large := tc.n*tc.k/workers >= 1<<20
				if wants := large || tc.m <= 64 && workers <= 4; is != wants && !k.Starves() {
					t.Errorf("%v on %d workers: columns are rows: %v, want %v", tc, workers, is, wants)
				}
				route := "stream"
				if path.KeepsB {
					route = "place"
				}
				if st := again(t, o, s, old); st.Route != route && (k.Starves() || is || tc.m <= 64) {
					t.Errorf("%v: want %s", st, route)
				}
				same(t, dense(o.c), want, s.n)
				checkGaps(t, s, o.c, old)
			}
			o.free()
		}
		if k.Starves() {
			// Three and four rows, by a B that the cache of one worker holds.
			defer gemm.PretendL2(1 << 20)()
			for _, tc := range []struct {
				shape
				workers int
				want    bool
			}{
				{shape{3, 600, 800}, 1, true}, {shape{4, 600, 800}, 1, true}, {shape{2, 600, 800}, 1, false},
				{shape{4, 600, 900}, 1, false}, {shape{5, 600, 900}, 1, true}, {shape{4, 600, 800}, 2, false},
			} {
				s := size(tc.m, tc.n, tc.k, append(slices.Clip(opts), gemm.WithWorkers(tc.workers))...)
				s.tb = true
				o := build[O, I](t, s)
				if path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...); err != nil || path.StreamsAlong != tc.want {
					t.Errorf("%v on %d workers: columns are rows: %v, want %v, error %v", tc.shape, tc.workers, path.StreamsAlong, tc.want, err)
				}
				o.free()
				sameAsRing[O, I](t, s)
			}
			return
		}
		// Rows missing to panels, more rows than are read so, a short K, and too little of B.
		for _, tc := range []struct {
			shape
			workers int
			want    bool
		}{
			{shape{27, 677, 461}, 1, false}, {shape{28, 677, 461}, 1, true}, {shape{59, 677, 461}, 1, false}, {shape{65, 677, 461}, 1, false},
			{shape{96, 677, 461}, 1, false}, {shape{128, 4096, 256}, 1, true}, {shape{160, 4096, 256}, 1, false}, {shape{32, 2000, 255}, 1, false},
			{shape{32, 5120, 1023}, 5, false}, {shape{32, 5120, 1024}, 5, true},
		} {
			s := size(tc.m, tc.n, tc.k, append(slices.Clip(opts), gemm.WithWorkers(tc.workers))...)
			s.tb = true
			o := build[O, I](t, s)
			if path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...); err != nil || path.StreamsAlong != tc.want {
				t.Errorf("%v: columns are rows: %v, want %v, error %v", tc, path.StreamsAlong, tc.want, err)
			}
			o.free()
		}
	})
}
