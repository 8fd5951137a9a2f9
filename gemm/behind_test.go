package gemm_test

import (
	"fmt"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestBehind compares products of a transposed B that are computed in place, where panels are packed behind the products
// of others, with those of the ring, bit for bit, and checks which are: those of several blocks of K, by a kernel of AVX-512
// that reads A in rows, on processors that gain by it.
func TestBehind(t *testing.T) {
	processors(t, 3)
	defer gemm.PretendIntel(false)()
	t.Run("bf16-f32", testBehind[float32, bf16.BF16])
	t.Run("bf16-bf16", testBehind[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testBehind[float32, float16.Float16])
	t.Run("f32-f32", testBehind[float32, float32])
	t.Run("f32-f16", testBehind[float16.Float16, float32])
}

// TestNotBehindOnIntel checks that a processor of Intel's packs the panels of such a product before it multiplies them.
func TestNotBehindOnIntel(t *testing.T) {
	a, b, c := gemm.NewMatrix[float32](64, 2048), gemm.NewMatrix[float32](64, 2048), gemm.NewMatrix[float32](64, 64)
	k, err := asm.Select(asm.F32, "")
	if err != nil {
		t.Fatal(err)
	}
	able := k.RowsPackDepth(asm.F32) > 0
	for _, intel := range []bool{false, true} {
		restore := gemm.PretendIntel(intel)
		path, err := gemm.PathOf(testEngine, c, a, b.T(), gemm.WithWorkers(1))
		restore()
		if err != nil {
			t.Fatal(err)
		}
		is := path.PacksBehind
		if is != (able && !intel) {
			t.Errorf("Intel %v: packs behind products: %v, and %v can: %v", intel, is, k.Name, able)
		}
	}
}

func testBehind[O gemm.Output, I gemm.Element](t *testing.T) {
	typ := typeOf[I]()
	eachKernel(t, typ, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) {
			t.Skip("it takes long, and packs nothing behind products")
		}
		able := k.RowsPackDepth(typ) > 0
		deep := 256 * k.KPack // elements of K in a block
		for i, tc := range []struct {
			m, n, k int
			behind  bool
			edit    func(s *spec)
		}{
			{64, 64, 2 * deep, true, func(s *spec) {}},
			{64, 64, deep, false, func(s *spec) {}},
			{k.MR + 1, 64, 3*deep + 2*k.KPack, true, func(s *spec) { s.padA, s.beta = 1, 1 }},
			{40, 50, 3 * deep, true, func(s *spec) { s.tc, s.padC = true, 3 }},
			{64, 64, 2 * deep, false, func(s *spec) { s.tb = false }},
			{64, 64, 2 * deep, false, func(s *spec) { s.ta = true }},
			{2 * k.MR, 32, 7*deep + 2*k.KPack, false, func(s *spec) { s.padB = 3 }},
			{2 * k.MR, 32, 8*deep + 2*k.KPack, true, func(s *spec) { s.padB = 3 }},
			{300, 300, 2*deep + 44, true, func(s *spec) {}}, // the sums are in C, if that holds them
			{3*k.MR + 1, 97, 3*deep + 34, true, func(s *spec) { s.padA, s.padC = 5, 7 }},
			{100, 70, 2*deep + 32*k.KPack, true, func(s *spec) { s.alpha, s.beta = -0.5, 2 }},
			{2*k.MR - 1, 33, 2*deep + 16, true, func(s *spec) { s.atStart = true }},
			{200, 190, 4*deep + 60, true, func(s *spec) { s.seed = 7 }},
		} {
			if (raceEnabled || testing.Short()) && i%4 > 0 {
				continue
			}
			for _, workers := range []int{1, 2, 3} {
				t.Run(fmt.Sprint(i, "/workers=", workers), func(t *testing.T) {
					s := size(tc.m, tc.n, tc.k, append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers))...)
					s.tb = true
					tc.edit(&s)
					st := sameAsRing[O, I](t, s)
					o := build[O, I](t, s)
					defer o.free()
					all := append([]gemm.Option{gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta)}, s.opts...)
					path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, all...)
					if err != nil {
						t.Fatal(err)
					}
					is := path.PacksBehind
					// C of 16 bits has its sums elsewhere, and is rounded by the kernel, but with an alpha or a beta.
					wants := able && tc.behind && (st.Route == "inline" || st.Route == "place") && (typeOf[O]() == asm.F32 || !k.Rounds(typeOf[O]()) || s.alpha != 1 || s.beta != 0)
					if is != wants && workers == 1 {
						t.Errorf("%v: packs behind products: %v, want %v", st, is, wants)
					}
				})
			}
		}
	})
}
