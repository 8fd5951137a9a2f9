package gemm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tf32"
)

// specOf returns the arithmetic of a wgmma with operands of type t and float32
// accumulators. float32 operands are rounded to tf32 before.
func specOf(t asm.Type) hopper.Spec {
	switch t {
	case asm.BF16:
		return hopper.Spec{A: hopper.BF16, B: hopper.BF16, Acc: hopper.F32, L: 16, F: 25, Frac: 23}
	case asm.F16:
		return hopper.Spec{A: hopper.F16, B: hopper.F16, Acc: hopper.F32, L: 16, F: 25, Frac: 23}
	}
	return hopper.Spec{A: hopper.TF32, B: hopper.TF32, Acc: hopper.F32, L: 8, F: 25, Frac: 23}
}

// model returns alpha·A·B + beta·C of the elements of s, step by step as the
// tensor core computes A·B.
func model[O gemm.Output, I gemm.Element](t *testing.T, s spec) []O {
	t.Helper()
	o := build[O, I](t, s)
	defer o.free()
	arith := specOf(typeOf[I]())
	steps := (s.k + arith.L - 1) / arith.L
	decode := func(m gemm.Matrix[I], format hopper.Format, at func(l int) I) []hopper.Word {
		words := make([]hopper.Word, 0, steps*arith.L)
		for l := range steps * arith.L {
			if l < s.k {
				u := uint32(bitsOf(at(l)))
				if format == hopper.TF32 {
					u = tf32.RoundBits(u)
				}
				words = append(words, format.Decode(u))
			} else {
				words = append(words, format.Decode(0))
			}
		}
		return words
	}
	var out []O
	for i := range s.m {
		row := decode(o.a, arith.A, func(l int) I { return o.a.At(i, l) })
		for j := range s.n {
			col := decode(o.b, arith.B, func(l int) I { return o.b.At(l, j) })
			acc := uint32(0)
			for at := 0; at < len(row); at += arith.L {
				acc = arith.Step(acc, row[at:][:arith.L], col[at:][:arith.L])
			}
			v := math.Float32frombits(acc)
			out = append(out, from[O](combined[O](gemm.Hopper, s.alpha, v, s.beta, to(o.c.At(i, j)))))
		}
	}
	return out
}

// Distributions of operands for which the tensor core does something of its own.
// Each returns numbers of type T.
func distributions[T gemm.Element]() map[string]func(*rand.Rand) float32 {
	any := func(r *rand.Rand) float32 {
		switch typeOf[T]() {
		case asm.BF16:
			return bf16.BF16(r.Uint32()).Float32()
		case asm.F16:
			return float16.Frombits(uint16(r.Uint32())).Float32()
		}
		return math.Float32frombits(r.Uint32())
	}
	finite := func(r *rand.Rand) float32 {
		for {
			if v := any(r); v-v == 0 {
				return v
			}
		}
	}
	return map[string]func(*rand.Rand) float32{
		"ordinary": ordinary,
		"any":      any,
		"finite":   finite,
		"peculiar": peculiar,
		// Ties of rounding to tf32 and their neighbours, up to what becomes infinite.
		"ties": func(r *rand.Rand) float32 {
			u := math.Float32bits(ordinary(r))&^0x1fff | []uint32{0, 0xfff, 0x1000, 0x1001, 0x1fff}[r.IntN(5)]
			if r.IntN(200) == 0 {
				u |= 0x7f7fe000
			}
			return math.Float32frombits(u)
		},
		// Numbers next to the smallest, with some ordinary ones among them.
		"subnormal": func(r *rand.Rand) float32 {
			if r.IntN(4) == 0 {
				return ordinary(r)
			}
			if typeOf[T]() == asm.F16 {
				return float16.Frombits(uint16(r.IntN(0x600) | r.IntN(2)<<15)).Float32()
			}
			return math.Float32frombits(uint32(r.IntN(0x180)<<16 | r.IntN(2)<<31))
		},
		// Numbers next to the largest: sums overflow.
		"huge": func(r *rand.Rand) float32 {
			if typeOf[T]() == asm.F16 {
				return float16.Frombits(uint16(0x7000 | r.IntN(0xc00) | r.IntN(2)<<15)).Float32()
			}
			exp := r.IntN(20) + 54
			return float32(math.Ldexp(float64(r.IntN(256)-128), exp))
		},
		// Large terms that cancel, and small ones that the rule cuts off.
		"cancelling": func(r *rand.Rand) float32 {
			return float32(math.Ldexp(float64(2*r.IntN(2)-1), r.IntN(3)*6))
		},
		// Products of nearly 4, whose sum takes one bit more than others.
		"heavy": func(r *rand.Rand) float32 { return 1.9921875 },
	}
}

// TestHopperModel holds every kernel to the rule of package internal/hopper.
func TestHopperModel(t *testing.T) {
	t.Run("bf16-f32", testHopperModel[float32, bf16.BF16])
	t.Run("bf16-bf16", testHopperModel[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testHopperModel[float32, float16.Float16])
	t.Run("f16-f16", testHopperModel[float16.Float16, float16.Float16])
	t.Run("tf32-f32", testHopperModel[float32, float32])
	t.Run("tf32-bf16", testHopperModel[bf16.BF16, float32])
}

func testHopperModel[O gemm.Output, I gemm.Element](t *testing.T) {
	sizes := [][3]int{{11, 67, 45}, {5, 17, 130}, {1, 1, 1}, {9, 33, 16}, {3, 65, 8}, {2, 3, 7}, {8, 64, 300}}
	if testing.Short() || raceEnabled {
		sizes = sizes[1:3]
	}
	for name, value := range distributions[I]() {
		t.Run(name, func(t *testing.T) {
			for i, d := range sizes {
				s := size(d[0], d[1], d[2])
				s.value, s.seed, s.ta, s.tb = value, uint64(i), i&1 != 0, i&2 != 0
				for _, f := range [][2]float32{{1, 0}, {0.7, -1.3}, {0.7, 1}} {
					s.alpha, s.beta = f[0], f[1]
					want := model[O, I](t, s)
					for _, kernel := range kernelsOf(gemm.Hopper, typeOf[I]()) {
						for _, ring := range []bool{false, true} {
							s.ring = ring
							s.opts = []gemm.Option{
								gemm.WithArithmetic(gemm.Hopper), gemm.WithKernel(kernel),
								gemm.WithTile(8, 64, 16*(i+1)),
							}
							t.Run(fmt.Sprint(kernel, "/", d, "/ring=", ring), func(t *testing.T) {
								sameAs[O, I](t, s, want)
							})
						}
					}
				}
			}
		})
	}
}

// TestHopperSameBits is TestSameBits for Hopper's arithmetic, where the kernels
// agree, too.
func TestHopperSameBits(t *testing.T) {
	t.Run("bf16-f32", testHopperSameBits[float32, bf16.BF16])
	t.Run("f16-f16", testHopperSameBits[float16.Float16, float16.Float16])
	t.Run("tf32-f32", testHopperSameBits[float32, float32])
}

func testHopperSameBits[O gemm.Output, I gemm.Element](t *testing.T) {
	plain := size(61, 91, 75, gemm.WithArithmetic(gemm.Hopper))
	plain.alpha, plain.beta = 0.75, 1.5
	want := product[O, I](t, plain)
	same(t, want, model[O, I](t, plain), plain.n)
	eachHopperKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		s := plain
		s.opts = opts
		sameAs[O, I](t, s, want)
		if slowKernel(k.Name) {
			s.ring, s.opts = true, append(opts, gemm.WithTile(24, 32, 16), gemm.WithDepth(3), gemm.WithWorkers(3))
			sameAs[O, I](t, s, want)
			return
		}
		sameEverywhere[O, I](t, s, want)
	})
}

// TestHopperStages multiplies with tiles and stages of the engine's own choice.
func TestHopperStages(t *testing.T) {
	if raceEnabled || slowKernel(bestHopper(t).Name) {
		t.Skip("much work without a new interleaving")
	}
	s := size(100, 150, 1111, gemm.WithArithmetic(gemm.Hopper))
	want := product[float32, bf16.BF16](t, s)
	for _, more := range [][]gemm.Option{
		{gemm.WithWorkers(1)}, {gemm.WithWorkers(5)}, {gemm.WithDepth(1)}, {gemm.WithTile(64, 256, 100)},
		{gemm.WithKernel("hopper-go"), gemm.WithWorkers(2)},
	} {
		s := s
		s.opts = append(slices.Clip(s.opts), more...)
		sameAs[float32, bf16.BF16](t, s, want)
	}
	s.m, s.n = 3, 5 // a few by the rule
	sameAs[float32, bf16.BF16](t, s, model[float32, bf16.BF16](t, s))
}

// TestHopperAllocations checks that operands for which the kernels have a path
// of their own cost no allocation either.
func TestHopperAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	t.Run("bf16", testHopperAllocations[bf16.BF16])
	t.Run("f16", testHopperAllocations[float16.Float16])
	t.Run("tf32", testHopperAllocations[float32])
}

func testHopperAllocations[T gemm.Element](t *testing.T) {
	values := distributions[T]()
	eachHopperKernel(t, typeOf[T](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for _, name := range []string{"ordinary", "any", "huge"} {
			for _, d := range [][3]int{{3, 5, 40}, {100, 120, 130}, {20, 200, 600}} {
				if slowKernel(k.Name) && d[0] > 3 {
					continue
				}
				s := size(d[0], d[1], d[2])
				s.value = values[name]
				o := build[float32, T](t, s)
				t.Run(fmt.Sprint(name, d), func(t *testing.T) {
					allocatesNothing(t, 5, func() error { return gemm.Multiply(o.c, o.a, o.b, opts[0], opts[1]) })
				})
				o.free()
			}
		}
	})
}
