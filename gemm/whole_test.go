package gemm_test

import (
	"fmt"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestWholeTiles compares small products of whole tiles by a packed B, of which nothing is
// laid out, with those of the ring, bit for bit, and checks which are taken for such.
func TestWholeTiles(t *testing.T) {
	t.Run("bf16-f32", testWholeTiles[float32, bf16.BF16])
	t.Run("bf16-bf16", testWholeTiles[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testWholeTiles[float32, float16.Float16])
	t.Run("f32-f32", testWholeTiles[float32, float32])
}

func testWholeTiles[O gemm.Output, I gemm.Element](t *testing.T) {
	typ := typeOf[I]()
	direct := typeOf[O]() == asm.F32
	eachKernel(t, typ, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		able := direct && k.Rows(typ) != nil && !k.Narrow(typ)
		step := k.KStep(typ) * k.KPack // with less A is padded
		for _, tc := range []struct {
			name  string
			whole bool
			edit  func(s *spec)
		}{
			{"two tiles", true, func(s *spec) {}},
			{"three by two", true, func(s *spec) { s.m, s.n, s.k = 3*k.MR, 2*k.NR, step }},
			{"in wider matrices", true, func(s *spec) { s.padA, s.padC = 32, 5 }},
			{"one tile", false, func(s *spec) { s.m = k.MR }},
			{"a row more", false, func(s *spec) { s.m++ }},
			{"a column more", false, func(s *spec) { s.n++ }},
			{"half a tile of columns", false, func(s *spec) { s.n /= 2 }},
			{"an alpha", false, func(s *spec) { s.alpha = 0.75 }},
			{"a beta", false, func(s *spec) { s.beta = -1.5 }},
			{"transposed A", false, func(s *spec) { s.ta = true }},
			{"transposed C", false, func(s *spec) { s.tc = true }},
			{"more than is small", false, func(s *spec) { s.n = (1<<16/(s.m*s.k)/k.NR + 1) * k.NR }},
		} {
			for _, atStart := range []bool{false, true} {
				s := size(2*k.MR, k.NR, max(step, 12), opts...)
				s.atStart, s.packed = atStart, true
				tc.edit(&s)
				t.Run(fmt.Sprint(tc.name, atStart), func(t *testing.T) {
					o := build[O, I](t, s)
					defer o.free()
					all := append([]gemm.Option{gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta)}, s.opts...)
					path, err := gemm.PathOf(testEngine, o.c, o.a, pack(t, o.b, s.opts...), all...)
					if err != nil {
						t.Fatal(err)
					}
					is := path.WholeTiles
					if want := able && tc.whole && s.m*s.n*s.k <= 1<<16; is != want {
						t.Errorf("%dx%dx%d: taken for whole tiles: %v, want %v", s.m, s.n, s.k, is, want)
					}
					ring := s
					ring.ring, ring.packed = true, false
					samePacked[O, I](t, s, product[O, I](t, ring))
				})
			}
		}
	})
}
