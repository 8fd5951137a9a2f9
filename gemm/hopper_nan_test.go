package gemm_test

import (
	"math"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// payload is a NaN that the GPU's instructions never give.
var payload = math.Float32frombits(0xffc12345)

// TestHopperNaN has each step behind the chain make a NaN, or take one from C, a bias or alpha: it is that of the GPU's
// instructions, 0x7fffffff (PTX 9.7.3), and 0x7fff in 16 bits.
func TestHopperNaN(t *testing.T) {
	none, vector := []float32{1}, []float32{payload}
	for _, tc := range []struct {
		name string
		a    map[int]float32 // by element of K; the others are 0
		opts []gemm.Option
	}{
		{"split K, Inf - Inf", map[int]float32{0: inf, 64: -inf}, []gemm.Option{gemm.WithSplitK(2)}},
		{"promotion, Inf - Inf", map[int]float32{0: inf, 64: -inf}, []gemm.Option{gemm.WithPromotion(64)}},
		{"promotion, NaN", map[int]float32{0: payload}, []gemm.Option{gemm.WithPromotion(64)}},
		{"alpha 0 of Inf", map[int]float32{0: inf}, []gemm.Option{gemm.WithAlpha(0)}},
		{"alpha NaN", nil, []gemm.Option{gemm.WithAlpha(payload)}},
		{"beta 1 of NaN", nil, []gemm.Option{gemm.WithBeta(1)}},
		{"beta 2 of NaN", nil, []gemm.Option{gemm.WithBeta(2)}},
		{"a scale", nil, []gemm.Option{gemm.WithScales(vector, nil)}},
		{"two scales", nil, []gemm.Option{gemm.WithScales(none, vector)}},
		{"bias -Inf of Inf", map[int]float32{0: inf}, []gemm.Option{gemm.WithBias([]float32{-inf})}},
		{"bias NaN", nil, []gemm.Option{gemm.WithBias(vector)}},
		{"row bias NaN", nil, []gemm.Option{gemm.WithRowBias(vector)}},
		{"GELUTanh of -Inf", map[int]float32{0: -inf}, []gemm.Option{gemm.WithActivation(gemm.GELUTanh)}},
	} {
		a, b := gemm.NewMatrix[bf16.BF16](1, 128), gemm.NewMatrix[bf16.BF16](128, 1)
		fill(b, func() float32 { return 1 })
		for i, x := range tc.a {
			a.Data[i] = bf16.FromFloat32(x)
		}
		opts := append(tc.opts, gemm.WithArithmetic(gemm.Hopper))
		wide, brain := gemm.Of(1, 1, []float32{payload}), gemm.Of(1, 1, []bf16.BF16{0xffc1})
		half := gemm.Of(1, 1, []float16.Float16{0xfe01})
		for _, err := range []error{
			gemm.Multiply(wide, a, b, opts...), gemm.Multiply(brain, a, b, opts...), gemm.Multiply(half, a, b, opts...),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got := [3]uint64{bitsOf(wide.Data[0]), bitsOf(brain.Data[0]), bitsOf(half.Data[0])}
		if want := [3]uint64{0x7fffffff, 0x7fff, 0x7fff}; got != want {
			t.Errorf("%s: f32, bf16 and f16 %#x, want %#x", tc.name, got, want)
		}
	}
}

// TestHopperNaNAnywhere looks at every NaN of products with many, on every route, of every kernel.
func TestHopperNaNAnywhere(t *testing.T) {
	t.Run("bf16-f32", testHopperNaNAnywhere[float32, bf16.BF16])
	t.Run("f32-bf16", testHopperNaNAnywhere[bf16.BF16, float32])
	t.Run("f16-f16", testHopperNaNAnywhere[float16.Float16, float16.Float16])
}

func testHopperNaNAnywhere[O gemm.Output, I gemm.Element](t *testing.T) {
	canonical := uint64(0x7fff)
	if typeOf[O]() == asm.F32 {
		canonical = 0x7fffffff
	}
	for _, name := range kernelsOf(gemm.Hopper, typeOf[I]()) {
		vector := make([]float32, 70)
		for i := range vector {
			vector[i] = float32(i%3) - 1
		}
		vector[1], vector[3], vector[len(vector)-1] = payload, -inf, -payload
		for i, more := range [][]gemm.Option{
			nil, {gemm.WithPromotion(64)}, {gemm.WithSplitK(2), gemm.WithTile(8, 32, 16)},
			{gemm.WithBias(vector)}, {gemm.WithRowBias(vector[:37]), gemm.WithDepth(2)},
			{gemm.WithScales(vector[:37], []float32{2}), gemm.WithActivation(gemm.ReLU)},
			{gemm.WithActivation(gemm.Tanh), gemm.WithWorkers(3)},
		} {
			for _, k := range []int{0, 150} {
				s := size(37, len(vector), k, append(more, gemm.WithArithmetic(gemm.Hopper), gemm.WithKernel(name))...)
				s.value, s.packed, s.tc, s.seed, s.alpha = peculiar, i&1 != 0, i&2 != 0, uint64(i), 1
				for _, s.beta = range []float32{0, 1, -2} {
					found := 0
					for j, x := range product[O, I](t, s) {
						if v := to(x); v == v {
							continue
						} else if found++; bitsOf(x) != canonical {
							t.Fatalf("%s, options %d, K = %d, beta %v: element %d is %#x, want %#x", name, i, k, s.beta, j,
								bitsOf(x), canonical)
						}
					}
					if found == 0 && k > 0 {
						t.Errorf("%s, options %d, K = %d, beta %v: no NaN", name, i, k, s.beta)
					}
				}
			}
		}
	}
}
