package asm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/hopper"
)

// roundTo returns x as an element of t holds it.
func roundTo(t Type, x float32) float32 {
	switch t {
	case BF16:
		return bf16.FromFloat32(x).Float32()
	case F16:
		return float16.Fromfloat32(x).Float32()
	}
	return x
}

// TestCombineHopper compares CombineHopper with exact arithmetic, for every type of C and rows with gaps between them,
// in which nothing is to be written.
func TestCombineHopper(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	value := func() float32 { return float32(math.Ldexp(r.Float64()-0.5, r.IntN(20)-10)) }
	const rows, cols, lda, ldd = 5, 13, 16, 15
	for _, typ := range []Type{F32, BF16, F16} {
		for _, beta := range []float32{0, 1, -1, 1.7} {
			for _, alpha := range []float32{1, 0.3} {
				acc, got := make([]float32, rows*lda), make([]float32, rows*ldd)
				for i := range acc {
					acc[i] = value()
				}
				for i := range got {
					got[i] = value()
				}
				want := append([]float32(nil), got...)
				for i := range rows * cols {
					x, d := acc[i/cols*lda+i%cols], &want[i/cols*ldd+i%cols]
					switch beta {
					case 0:
						*d = alpha * x
					case 1:
						*d = roundTo(typ, alpha*x) + *d
					default:
						*d = exactFMA(alpha, x, beta*(*d))
					}
				}
				CombineHopper(typ, unsafe.Pointer(&got[0]), ldd*4, unsafe.Pointer(&acc[0]), lda*4, rows, cols, alpha,
					beta)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%v, alpha %v, beta %v: element %d is %v, want %v", typ, alpha, beta, i, got[i],
							want[i])
					}
				}
			}
		}
	}
}

// TestActivateHopper holds GELUTanh to its steps, with a bias and rows with gaps, and to what a GPU makes of special
// arguments, and wants all other activations as Activate has them.
func TestActivateHopper(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	const rows, cols, pitch = 3, 17, 20
	for _, f := range Activations() {
		src, bias := make([]float32, rows*pitch), make([]float32, cols)
		for i := range src {
			src[i] = float32(r.NormFloat64() * 3)
		}
		for j := range bias {
			bias[j] = float32(r.NormFloat64())
		}
		got, want := append([]float32(nil), src...), append([]float32(nil), src...)
		by := Vector{At: unsafe.Pointer(&bias[0]), Col: 4}
		ActivateHopper(unsafe.Pointer(&got[0]), pitch*4, unsafe.Pointer(&got[0]), pitch*4, rows, cols, by, f)
		if f == GELUTanh {
			for i := range rows * cols {
				x := src[i/cols*pitch+i%cols] + bias[i%cols]
				u := x * exactFMA(math.Float32frombits(0x3d12227e)*x, x, math.Float32frombits(0x3f4c422a))
				want[i/cols*pitch+i%cols] = exactFMA(x/2, hopper.TanhApprox(u), x/2)
			}
		} else {
			Activate(unsafe.Pointer(&want[0]), pitch*4, unsafe.Pointer(&want[0]), pitch*4, rows, cols, by, f)
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Errorf("%v: element %d is %v, want %v", f, i, got[i], want[i])
			}
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range [][2]float32{{inf, inf}, {-inf, float32(math.NaN())}, {-20, 0}, {20, 20}, {0, 0}} {
		x := c[0]
		ActivateHopper(unsafe.Pointer(&x), 4, unsafe.Pointer(&x), 4, 1, 1, Vector{}, GELUTanh)
		if !sameBits(x, c[1]) {
			t.Errorf("GELUTanh(%v) = %v, want %v", c[0], x, c[1])
		}
	}
}

// exactFMA returns x·y + z, rounded once; no argument is infinite.
func exactFMA(x, y, z float32) float32 {
	exactly := func(v float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(v)) }
	sum, _ := exactly(0).Add(exactly(0).Mul(exactly(x), exactly(y)), exactly(z)).Float32()
	return sum
}

// TestCanonicalNaN has floats of all kinds in rows with gaps between them, in which nothing is to be written.
func TestCanonicalNaN(t *testing.T) {
	const rows, pitch = 3, 21
	kinds := []uint32{0x7f800001, 0xff800001, 0x7fc00000, 0xffc12345, 0x7fffffff, 0xffffffff, 0x7f800000, 0xff800000, 0,
		1 << 31, 1, 0x807fffff, 0x3f800000, 0x7f7fffff, 0xff7fffff}
	for cols := range pitch {
		for first := range kinds { // the only NaN may be anywhere
			got, want := make([]uint32, rows*pitch), make([]uint32, rows*pitch)
			for i := range got {
				got[i] = kinds[6+i%9]
				if i%pitch == cols-1 || i%pitch == cols {
					got[i] = kinds[first]
				}
				want[i] = got[i]
				if x := math.Float32frombits(got[i]); i%pitch < cols && x != x {
					want[i] = 0x7fffffff
				}
			}
			canonicalNaN(unsafe.Pointer(&got[0]), pitch*4, rows, cols)
			if !slices.Equal(got, want) {
				t.Fatalf("%d columns: %#x, want %#x", cols, got, want)
			}
		}
	}
}
