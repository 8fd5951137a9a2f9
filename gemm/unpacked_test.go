package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// unpacks reports whether a product packs nothing.
func unpacks[O gemm.Output, I gemm.Element](t *testing.T, o operands[O, I], opts []gemm.Option) bool {
	t.Helper()
	path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return path.Unpacked()
}

// TestUnpacked compares products that pack nothing with those of the ring, bit for
// bit: alone and on several workers, with every orientation that needs no packing, and
// where sums do not go to C as they are.
func TestUnpacked(t *testing.T) {
	processors(t, 6)
	t.Run("f32-f32", testUnpacked[float32])
	t.Run("f32-f16", testUnpacked[float16.Float16])
}

func testUnpacked[O gemm.Output](t *testing.T) {
	eachKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Unpacked(asm.F32) == nil {
			t.Skip("packs")
		}
		all, unpacked := 0, 0
		for i, tc := range []struct{ m, n, k int }{
			{1, 1, 1}, {1, 300, 200}, {3, 257, 129}, {5, 47, 31}, {9, 1000, 400}, {13, 8, 8},
			{16, 513, 700}, {33, 33, 33}, {40, 40, 40}, {65, 65, 65}, {57, 513, 200}, {700, 40, 300},
			{2100, 17, 30}, {100, 1000, 100}, {3000, 3, 7}, {1, 75, 60}, {1, 20, 601}, {1, 33, 300}, {3, 41, 1031},
			{1, 500, 700},
		} {
			if (raceEnabled || testing.Short()) && (i%3 > 0 || tc.m*tc.n*tc.k > 1<<20) {
				continue
			}
			type layout struct{ ta, tb, tc, packed bool }
			layouts := []layout{
				{}, {ta: true}, {tc: true, ta: true, tb: true}, {tc: true, tb: true}, {tc: true, packed: true},
			}
			if tc.m <= 4 { // what is in panels is read where it lies, too
				layouts = append(layouts, layout{packed: true}, layout{ta: true, packed: true})
			}
			if tc.m == 1 && tc.n*tc.k <= 1<<14 { // and along K, if there is little
				layouts = append(layouts, layout{tb: true}, layout{ta: true, tb: true})
			}
			for _, layout := range layouts {
				t.Run(fmt.Sprint(tc, layout), func(t *testing.T) {
					s := size(tc.m, tc.n, tc.k, opts...)
					if layout.tc && !layout.packed {
						s.m, s.n = tc.n, tc.m // C' = B'·A' is multiplied
					}
					s.ta, s.tb, s.tc = layout.ta, layout.tb, layout.tc
					s.seed, s.padA, s.padB, s.padC, s.atStart = uint64(i), i%4, i%3, i%2, i&1 != 0
					if i%3 == 1 {
						s.alpha, s.beta = 0.75, -1.5
					}
					s.opts = append(opts[:len(opts):len(opts)], gemm.WithDepth(1))
					want := product[O, float32](t, s)
					for _, workers := range []int{1, 2, 5} {
						s.opts, s.packed = append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers)), layout.packed
						if layout.packed {
							sameAs[O, float32](t, s, want)
							continue
						}
						all++
						o := build[O, float32](t, s)
						if unpacks(t, o, s.opts) {
							unpacked++
						}
						o.free()
						sameAs[O, float32](t, s, want)
					}
				})
			}
		}
		if unpacked < all/2 {
			t.Errorf("%d of %d products pack nothing, want more than half", unpacked, all)
		}
	})
}

// TestUnpackedWhich checks which products pack nothing, apart from those that are
// packed on some processors.
func TestUnpackedWhich(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine")
	}
	processors(t, 16)
	defer gemm.PretendL2(1 << 20)()
	eachKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for _, tc := range []struct {
			what     string
			m, n, k  int
			pad      int  // of B
			tb, want bool // by a B transposed only with a kernel for vectors
			opts     []gemm.Option
		}{
			{"small", 8, 8, 8, 0, false, true, nil},
			{"B transposed", 8, 8, 8, 0, true, false, nil},
			{"a ring is asked for", 8, 8, 8, 0, false, false, []gemm.Option{gemm.WithDepth(2)}},
			{"one row", 1, 512, 512, 0, false, true, nil},
			{"one row, B transposed", 1, 256, 256, 0, true, true, nil},
			{"one row, B transposed and not small", 1, 256, 257, 0, true, false, nil},
			{"one row, B larger than a second-level cache keeps", 1, 1024, 1024, 0, false, false,
				[]gemm.Option{gemm.WithWorkers(2)}},
			{"one row, B that several keep", 1, 1024, 1024, 0, false, true, []gemm.Option{gemm.WithWorkers(4)}},
			{"four rows, B that the caches nearly hold", 4, 1280, 2048, 4096, false, true,
				[]gemm.Option{gemm.WithWorkers(8)}},
			{"three rows, B that they do not hold", 3, 1280, 2048, 4096, false, false,
				[]gemm.Option{gemm.WithWorkers(7)}},
			{"few rows", 12, 900, 900, 0, false, true, nil},
			{"few rows, B from memory", 12, 2100, 1100, 0, false, false, nil},
			{"many rows, B in no cache", 64, 100, 1024, 4096 - 100, false, false, nil},
			{"few columns, A of any size", 2000, 16, 300, 0, false, true, nil},
			{"whole panels", 480, 480, 480, 0, false, false, nil},
		} {
			t.Run(tc.what, func(t *testing.T) {
				// Nothing is computed, so nothing need be in the operands.
				a, b, c := gemm.NewMatrix[float32](tc.m, tc.k), gemm.NewMatrix[float32](tc.k, tc.n+tc.pad),
					gemm.NewMatrix[float32](tc.m, tc.n)
				if b.Cols = tc.n; tc.tb {
					b = gemm.NewMatrix[float32](tc.n, tc.k).T()
				}
				u := k.Unpacked(asm.F32)
				want := tc.want && u != nil && (!tc.tb || u.Vector[asm.VectorAlong] != nil)
				o := operands[float32, float32]{c: c, a: a, b: b}
				if is := unpacks(t, o, append(slices.Clip(opts), tc.opts...)); is != want {
					t.Errorf("%dx%dx%d: packs nothing is %v", tc.m, tc.n, tc.k, is)
				}
			})
		}
	})
}
