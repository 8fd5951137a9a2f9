package gemm_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/x448/float16"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// pairings are the types of C and of A and B.
var pairings = []struct {
	name   string
	in     asm.Type
	verify func(testing.TB, spec) gemm.Stats
}{
	{"bf16-f32", asm.BF16, verify[float32, bf16.BF16]},
	{"bf16-bf16", asm.BF16, verify[bf16.BF16, bf16.BF16]},
	{"bf16-f16", asm.BF16, verify[float16.Float16, bf16.BF16]},
	{"f16-f32", asm.F16, verify[float32, float16.Float16]},
	{"f16-bf16", asm.F16, verify[bf16.BF16, float16.Float16]},
	{"f16-f16", asm.F16, verify[float16.Float16, float16.Float16]},
	{"f32-f32", asm.F32, verify[float32, float32]},
	{"f32-bf16", asm.F32, verify[bf16.BF16, float32]},
	{"f32-f16", asm.F32, verify[float16.Float16, float32]},
	{"f64-f64", asm.F64, verify[float64, float64]}, // the last one
}

// verify computes s and checks every element of C, and that nothing else was
// written.
func verify[O gemm.Output, I gemm.Element](t testing.TB, s spec) gemm.Stats {
	t.Helper()
	o := build[O, I](t, s)
	defer o.free()
	oldA, oldB, old := slices.Clone(o.a.Data), slices.Clone(o.b.Data), slices.Clone(o.c.Data)
	var oldC []float64
	if s.beta != 0 {
		oldC = widen(o.c)
	}
	st, err := o.multiply(s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	if !equalBits(o.a.Data, oldA) || !equalBits(o.b.Data, oldB) {
		t.Fatalf("%+v: an input was written", s)
	}
	checkGaps(t, s, o.c, old)
	checkBound(t, s, typeOf[I]().Block(), o.c, oldC, widen(o.a), widen(o.b))
	return st
}

func equalBits[T gemm.Element](a, b []T) bool { return bytes.Equal(bytesOf(a), bytesOf(b)) }

// bytesOf returns the memory of s.
func bytesOf[T gemm.Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// sameAs fails the test unless s gives the bits want and leaves what lies between C's rows
// alone, and returns how it ran.
func sameAs[O gemm.Output, I gemm.Element](t testing.TB, s spec, want []O) gemm.Stats {
	t.Helper()
	o := build[O, I](t, s)
	defer o.free()
	old := slices.Clone(o.c.Data)
	st, err := o.multiply(s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	same(t, dense(o.c), want, s.n)
	checkGaps(t, s, o.c, old)
	return st
}

// sameAsRing fails the test unless s gives the bits of the ring, as sameAs does.
func sameAsRing[O gemm.Output, I gemm.Element](t testing.TB, s spec) gemm.Stats {
	t.Helper()
	ring := s
	ring.ring = true
	return sameAs[O, I](t, s, product[O, I](t, ring))
}

// checkGaps fails the test if what lies between the rows of c has changed.
func checkGaps[T gemm.Element](t testing.TB, s spec, c gemm.Matrix[T], old []T) {
	t.Helper()
	cols := c.Cols
	if s.tc {
		cols = c.Rows
	}
	for i := cols; i < len(old); i += c.Stride {
		if end := min(i-cols+c.Stride, len(old)); !equalBits(c.Data[i:end], old[i:end]) {
			t.Fatalf("%+v: of Data[%d:%d], between the rows of C, something was written", s, i, end)
		}
	}
}

// checkBound checks c against alpha·A·B + beta·old in float64. The error before the last rounding is at most tol =
// γ·(|alpha|·|A|·|B| + |beta|·|old|) with γ = (block + K/block + 8)·2^-24 for sums in blocks of K, and rounding is
// monotonic; so c lies between what ref-tol and ref+tol are rounded to, be it a subnormal or infinity.
func checkBound[T gemm.Element](t testing.TB, s spec, block int, c gemm.Matrix[T], old, a, b []float64) {
	t.Helper()
	multiply := withBLAS
	if s.naive {
		multiply = naively
	}
	sums := multiply(s.m, s.n, s.k, a, b)
	sizes := multiply(s.m, s.n, s.k, magnitudes(a), magnitudes(b))
	alpha, beta := float64(s.alpha), float64(s.beta)
	gamma := float64(min(s.k, block)+s.k/block+8) * 0x1p-24
	bad := 0
	for i := range s.m {
		for j := range s.n {
			at := i*s.n + j
			ref, tol := alpha*sums[at], gamma*math.Abs(alpha)*sizes[at]
			if s.beta != 0 {
				ref += beta * old[at]
				tol += gamma * math.Abs(beta*old[at])
			}
			got, lo, hi := float64(to(c.At(i, j))), ref, ref
			if !math.IsNaN(ref) && !math.IsInf(ref, 0) {
				lo, hi = float64(to(from[T](float32(ref-tol)))), float64(to(from[T](float32(ref+tol))))
			}
			if got >= lo && got <= hi || math.IsNaN(got) && math.IsNaN(ref) {
				continue
			}
			if bad++; bad <= 3 {
				t.Errorf("%+v: element (%d, %d) is %v, want %v (%v to %v)", s, i, j, got, ref, lo, hi)
			}
		}
	}
	if bad > 0 {
		t.Fatalf("%d of %d elements are wrong", bad, s.m*s.n)
	}
}

// withBLAS multiplies dense matrices of finite numbers: it skips zeros.
func withBLAS(m, n, k int, a, b []float64) []float64 {
	c := make([]float64, m*n)
	if m*n*k > 0 {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(m, k, a), general(k, n, b), 0, general(m, n, c))
	}
	return c
}

func general(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// naively multiplies dense matrices by definition.
func naively(m, n, k int, a, b []float64) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for l := range k {
			for j := range n {
				c[i*n+j] += a[i*k+l] * b[l*n+j]
			}
		}
	}
	return c
}

func widen[T gemm.Element](m gemm.Matrix[T]) []float64 {
	d := make([]float64, 0, m.Rows*m.Cols)
	for i := range m.Rows {
		for j := range m.Cols {
			d = append(d, float64(to(m.At(i, j))))
		}
	}
	return d
}

func magnitudes(x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = math.Abs(x[i])
	}
	return y
}
