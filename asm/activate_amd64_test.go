//go:build amd64 && !purego

package asm

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// eachVectors runs f with the assembly for each width of vectors that there is.
func eachVectors(t *testing.T, f func(t *testing.T)) {
	has512, has2 := hasAVX512, hasAVX2
	defer func() { hasAVX512, hasAVX2 = has512, has2 }()
	for _, w := range []struct {
		name             string
		avx512, avx2, ok bool
	}{{"avx512", true, false, has512}, {"avx2", false, true, has2}} {
		t.Run(w.name, func(t *testing.T) {
			if !w.ok {
				t.Skip("not on this machine")
			}
			hasAVX512, hasAVX2 = w.avx512, w.avx2
			f(t)
		})
	}
}

// sameFloats reports whether two float32s have the same bits, or are NaNs.
func sameFloats(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// TestActivate compares the passes with their twin, over rows of all widths between memory that may not be touched,
// in place and not, and for all kinds of vectors.
func TestActivate(t *testing.T) {
	eachVectors(t, func(t *testing.T) {
		const most = 70 // rows
		src, dst, vec := newGuarded(t, most*324), newGuarded(t, most*324), newGuarded(t, most*4)
		want := make([]byte, len(dst.mem)+canary) // so that an address may be that of the end
		r := rand.New(rand.NewPCG(40, 2))
		turns := 6000
		if testing.Short() || raceEnabled {
			turns = 600
		}
		for turn := range turns {
			rows, cols, how := r.IntN(6), r.IntN(66), pass(turn)%(passScale+1)
			if turn%50 == 0 {
				rows = r.IntN(most)
			}
			lds, ldd := 4*(cols+r.IntN(16)), 4*(cols+r.IntN(16))
			for _, mem := range [][]byte{src.mem, dst.mem, vec.mem} {
				words := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/4)
				for i := turn % 3; i < len(words); i += 3 {
					words[i] = float32(math.Ldexp(r.Float64()*4-2, r.IntN(12)-6))
					if r.IntN(50) == 0 {
						words[i] = math.Float32frombits(r.Uint32())
					}
				}
			}
			v := Vector{nil, 4 * r.IntN(2), 0}
			n := rows
			if v.Row == 0 {
				v.Col = 4 * r.IntN(2)
				n = max(1, cols*v.Col/4)
			}
			spanSrc, spanDst := max(0, (rows-1)*lds+cols*4), max(0, (rows-1)*ldd+cols*4)
			from, to := src.first(spanSrc), dst.first(spanDst)
			v.At = vec.first(4 * n)
			if turn%3 > 0 {
				from, to, v.At = src.last(spanSrc), dst.last(spanDst), vec.last(4*n)
			}
			if turn%4 == 0 {
				from, lds = to, ldd
			}
			copy(want, dst.mem)
			start := func(mem []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(mem)) }
			at := unsafe.Add(start(want), uintptr(to)-uintptr(start(dst.mem)))
			expected := from
			if from == to {
				expected = at
			}
			applyGeneric(at, ldd, expected, lds, rows, cols, v, how)
			if how == passScale {
				Scale(to, ldd, from, lds, rows, cols, v)
			} else {
				Activate(to, ldd, from, lds, rows, cols, v, Activation(how))
			}
			for i := 0; i < len(dst.mem); i += 4 {
				g, w := *(*float32)(unsafe.Pointer(&dst.mem[i])), *(*float32)(unsafe.Pointer(&want[i]))
				if !sameFloats(g, w) {
					t.Fatalf("pass %d over %d rows of %d, vector %+v: byte %d holds %v, the twin has %v",
						how, rows, cols, v, i, g, w)
				}
			}
		}
	})
}

// TestActivations compares every activation with its twin for arguments of every exponent, and many others.
func TestActivations(t *testing.T) {
	eachVectors(t, func(t *testing.T) {
		for _, f := range Activations() {
			var xs, ys []float32
			arguments(func(x float32) {
				if xs = append(xs, x); len(xs) < 1<<16 {
					return
				}
				ys = compareActivation(t, f, xs, ys)
				xs = xs[:0]
			})
			compareActivation(t, f, xs, ys)
		}
	})
}

// compareActivation applies f to xs, in a buffer that it returns.
func compareActivation(t *testing.T, f Activation, xs, buffer []float32) []float32 {
	t.Helper()
	ys := append(buffer[:0], xs...)
	Activate(unsafe.Pointer(&ys[0]), 0, unsafe.Pointer(&xs[0]), 0, 1, len(xs), Vector{}, f)
	for i, x := range xs {
		if want := activate(x, f); !sameFloats(ys[i], want) {
			t.Fatalf("%v(%v) = %v (%#x), the twin has %v (%#x)",
				f, x, ys[i], math.Float32bits(ys[i]), want, math.Float32bits(want))
		}
	}
	return ys
}

// TestActivateNoVector checks that to add no bias changes nothing, not even the sign of a zero.
func TestActivateNoVector(t *testing.T) {
	xs := []float32{minusZero, 0, 1, float32(math.Inf(-1)), math.SmallestNonzeroFloat32}
	ys := make([]float32, len(xs))
	Activate(unsafe.Pointer(&ys[0]), 0, unsafe.Pointer(&xs[0]), 0, 1, len(xs), Vector{}, Identity)
	for i, x := range xs {
		if !sameFloats(ys[i], x) {
			t.Errorf("%v became %v", x, ys[i])
		}
	}
}

func BenchmarkActivate(b *testing.B) {
	const rows, cols = 64, 32
	xs := make([]float32, rows*cols)
	for i := range xs {
		xs[i] = float32(i%17)/4 - 2
	}
	bias := Vector{unsafe.Pointer(&xs[0]), 0, 4}
	for _, avx512 := range []bool{true, false} {
		had := hasAVX512
		name := "avx512/"
		if hasAVX512 = hasAVX512 && avx512; !hasAVX512 {
			name = "avx2/"
		}
		for _, f := range Activations() {
			ys := make([]float32, len(xs))
			b.Run(name+f.String(), func(b *testing.B) {
				for b.Loop() {
					Activate(unsafe.Pointer(&ys[0]), cols*4, unsafe.Pointer(&xs[0]), cols*4, rows, cols, bias, f)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*cols/16), "ns/16")
			})
		}
		hasAVX512 = had
	}
}
