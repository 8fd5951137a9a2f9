package gemm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// peculiar returns mostly zeros and small integers, and now and then an
// infinity or a NaN.
func peculiar(r *rand.Rand) float32 {
	switch n := r.IntN(300); {
	case n == 0:
		return nan
	case n == 1:
		return inf
	case n == 2:
		return -inf
	case n < 150:
		return 0
	default:
		return float32(r.IntN(9) - 4)
	}
}

// TestSpecialValues checks that infinities and NaNs go where IEEE 754 sends
// them: Inf·0 is a NaN, so no zero may be skipped.
func TestSpecialValues(t *testing.T) {
	t.Run("bf16-f32", testSpecialValues[float32, bf16.BF16])
	t.Run("bf16-bf16", testSpecialValues[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testSpecialValues[float32, float16.Float16])
	t.Run("f16-f16", testSpecialValues[float16.Float16, float16.Float16])
	t.Run("f32-f32", testSpecialValues[float32, float32])
	t.Run("f64-f64", testSpecialValues[float64, float64])
}

func testSpecialValues[O gemm.Output, I gemm.Element](t *testing.T) {
	for _, name := range kernels(typeOf[I]()) {
		for seed := range uint64(6) {
			s := size(21, 67, 25, gemm.WithKernel(name), gemm.WithTile(8, 32, 8))
			s.value, s.naive, s.seed, s.ring = peculiar, true, seed, seed&1 != 0
			s.ta, s.tc = seed&2 != 0, seed == 5
			verify[O, I](t, s)
			s.alpha, s.beta = 2, -1
			verify[O, I](t, s)
		}
	}
}

// TestSpecialFactors takes infinite and NaN alpha and beta; alpha = 0 still
// multiplies, only beta = 0 is special.
func TestSpecialFactors(t *testing.T) {
	for _, f := range [][2]float32{
		{0, 0}, {0, 1}, {nan, 0}, {inf, 0}, {-inf, 1}, {1, nan}, {1, inf}, {1, -inf}, {0, inf},
	} {
		for _, k := range []int{0, 25} {
			for _, value := range []func(*rand.Rand) float32{ordinary, peculiar} {
				s := size(9, 35, k)
				s.alpha, s.beta, s.value, s.naive = f[0], f[1], value, true
				verify[float32, bf16.BF16](t, s)
				verify[float16.Float16, float32](t, s)
				s.ring = k > 0
				verify[float32, float32](t, s)
			}
		}
	}
}

// TestZeroTimesNaN names the plainest cases one by one.
func TestZeroTimesNaN(t *testing.T) {
	for _, tc := range []struct{ a, b, c, alpha, beta, want float32 }{
		{a: 0, b: nan, alpha: 1, want: nan},
		{a: nan, b: 0, alpha: 1, want: nan},
		{a: 0, b: inf, alpha: 1, want: nan},
		{a: 1, b: inf, alpha: 1, want: inf},
		{a: -1, b: inf, alpha: 1, want: -inf},
		{a: 1, b: nan, alpha: 0, want: nan},
		{a: 1, b: 2, c: nan, alpha: 1, want: 2},
		{a: 1, b: 2, c: inf, alpha: 1, want: 2},
		{a: 1, b: 2, c: nan, alpha: 1, beta: 1, want: nan},
		{a: 1, b: 2, c: inf, alpha: 1, beta: -1, want: -inf},
		{a: 1, b: 2, c: 0, alpha: 1, beta: inf, want: nan},
	} {
		for _, name := range kernels(asm.F32) {
			one := func(x float32) gemm.Matrix[float32] {
				return gemm.Matrix[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{x}}
			}
			c := one(tc.c)
			err := gemm.Multiply(c, one(tc.a), one(tc.b),
				gemm.WithAlpha(tc.alpha), gemm.WithBeta(tc.beta), gemm.WithKernel(name))
			if got := c.Data[0]; err != nil || got != tc.want && (got == got || tc.want == tc.want) {
				t.Errorf("%s: %v·%v·%v + %v·%v = %v, %v, want %v",
					name, tc.alpha, tc.a, tc.b, tc.beta, tc.c, got, err, tc.want)
			}
		}
	}
}

// TestWithoutK names what becomes of C without anything to sum: alpha·0 + beta·C.
func TestWithoutK(t *testing.T) {
	for _, tc := range []struct{ c, alpha, beta, want float32 }{
		{c: 3, alpha: 2, beta: 0, want: 0},
		{c: nan, alpha: 2, beta: 0, want: 0},
		{c: 3, alpha: 2, beta: 0.5, want: 1.5},
		{c: 3, alpha: 0, beta: 1, want: 3},
		{c: 3, alpha: nan, beta: 0, want: nan},
		{c: 3, alpha: nan, beta: 1, want: nan},
		{c: 3, alpha: inf, beta: 0, want: nan},
		{c: 3, alpha: -inf, beta: 1, want: nan},
		{c: inf, alpha: 1, beta: 1, want: inf},
	} {
		for _, arith := range arithmetics {
			for _, n := range []int{1, 40} {
				a, b := gemm.NewMatrix[float32](n, 0), gemm.NewMatrix[float32](0, n)
				c, packed := gemm.NewMatrix[float32](n, n), pack(t, b, gemm.WithArithmetic(arith))
				for _, b := range []gemm.Operand[float32]{b, packed} {
					fill(c, func() float32 { return tc.c })
					err := gemm.Multiply(c, a, b,
						gemm.WithAlpha(tc.alpha), gemm.WithBeta(tc.beta), gemm.WithArithmetic(arith))
					for _, got := range c.Data {
						if err != nil || got != tc.want && (got == got || tc.want == tc.want) {
							t.Fatalf("%v: %v·0 + %v·%v = %v, %v, want %v",
								arith, tc.alpha, tc.beta, tc.c, got, err, tc.want)
						}
					}
				}
			}
		}
	}
}

// TestOverflow checks that what exceeds a 16-bit C becomes infinite, and that
// the accumulators reach further than C does.
func TestOverflow(t *testing.T) {
	a, b := gemm.NewMatrix[float16.Float16](1, 2), gemm.NewMatrix[float16.Float16](2, 1)
	c := gemm.NewMatrix[float16.Float16](1, 1)
	set := func(m gemm.Matrix[float16.Float16], x, y float32) {
		m.Data[0], m.Data[1] = float16.Fromfloat32(x), float16.Fromfloat32(y)
	}
	for _, tc := range []struct{ x, y, alpha, want float32 }{
		{60000, 60000, 1, inf},
		{-60000, -60000, 1, -inf},
		{60000, -60000, 1, 0},
		{60000, 60000, 0x1p-8, 468.75},
		{60000, 5504, 1, 65504},
		{60000, 5520, 1, inf}, // 65520 is halfway, and rounds to even
	} {
		set(a, tc.x, tc.y)
		set(b, 1, 1)
		if err := gemm.Multiply(c, a, b, gemm.WithAlpha(tc.alpha)); err != nil {
			t.Fatal(err)
		}
		if got := c.Data[0].Float32(); got != tc.want {
			t.Errorf("%v·(%v + %v) = %v, want %v", tc.alpha, tc.x, tc.y, got, tc.want)
		}
	}
}
