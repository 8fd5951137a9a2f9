package asm

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestCombine compares Combine with its twin bit for bit, and checks that
// nothing around the block is written and that beta = 0 reads no old value.
func TestCombine(t *testing.T) {
	testCombine[float32](t, F32, math.SmallestNonzeroFloat32, math.MaxFloat32, 1e-39)
	testCombine[float64](t, F64, math.SmallestNonzeroFloat64, math.MaxFloat64, 1e-310)
}

func testCombine[F float](t *testing.T, typ Type, extremes ...F) {
	size := typ.Size()
	r := rand.New(rand.NewPCG(1, 2))
	special := append(extremes, 0, F(math.Copysign(0, -1)), 1, -1, F(math.Inf(1)), F(math.Inf(-1)), F(math.NaN()))
	value := func() F {
		if r.IntN(4) == 0 {
			return special[r.IntN(len(special))]
		}
		return F(math.Ldexp(r.Float64()-0.5, r.IntN(40)-20))
	}
	for _, rows := range []int{1, 2, 15, 16, 17, 40} {
		for cols := 1; cols <= 35; cols++ {
			for _, beta := range []F{0, 1, -0.5, F(math.NaN()), F(math.Copysign(0, -1))} {
				for _, alpha := range []F{1, 2.5, 0.1} {
					ldd, lda := cols+r.IntN(2), cols+r.IntN(2)
					acc := make([]F, rows*lda)
					got := make([]F, rows*ldd+8)
					for i := range acc {
						acc[i] = value()
					}
					for i := range got {
						got[i] = value()
					}
					want := slices.Clone(got)
					Combine(typ, unsafe.Pointer(&got[0]), ldd*size, unsafe.Pointer(&acc[0]), lda*size, rows, cols,
						float64(alpha), float64(beta))
					combineGeneric(unsafe.Pointer(&want[0]), ldd*size, unsafe.Pointer(&acc[0]), lda*size, rows, cols,
						alpha, beta)
					for i := range got {
						g, w := float64(got[i]), float64(want[i]) // exact, zeros keep their signs
						if math.Float64bits(g) != math.Float64bits(w) && !(g != g && w != w) {
							t.Fatalf("%v %d x %d alpha %v beta %v: element %d is %x, want %x", typ, rows, cols, alpha,
								beta, i, g, w)
						}
					}
				}
			}
		}
	}
}

// TestRoundRows compares RoundRows with its twin, between memory that ends, or begins, where a page may not be
// touched: nothing but the rows is written.
func TestRoundRows(t *testing.T) {
	const most = 300
	src, dst := newGuarded(t, most*324), newGuarded(t, most*192)
	want := make([]byte, len(dst.mem)+canary) // so that an address may be that of the end
	r := rand.New(rand.NewPCG(72, 1))
	turns := 3000
	if testing.Short() || raceEnabled {
		turns = 300
	}
	for i := range turns {
		word := anyOperands(r)
		words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(src.mem))), len(src.mem)/4)
		for j := i % 7; j < len(words); j += 7 {
			words[j] = word(r, 1)
		}
		rows, n := r.IntN(20), r.IntN(66)
		if i%50 == 0 {
			rows = r.IntN(most)
		}
		lds, ldd := 4*(n+r.IntN(16)), n*2+r.IntN(30)
		if i%4 == 0 {
			n, ldd = n/32*32, (ldd+PastLine-1)/PastLine*PastLine
		}
		for j := range dst.mem {
			dst.mem[j] = 0xa5
		}
		spanSrc, spanDst := max(0, (rows-1)*lds+n*4), max(0, (rows-1)*ldd+n*2)
		from, to := src.first(spanSrc), dst.first(spanDst)
		if i%3 > 0 {
			from, to = src.last(spanSrc), dst.last(spanDst)
		}
		typ := []Type{BF16, F16}[i%2]
		copy(want, dst.mem)
		at := int(uintptr(to) - uintptr(unsafe.Pointer(unsafe.SliceData(dst.mem))))
		roundRowsGeneric(typ, unsafe.Add(unsafe.Pointer(unsafe.SliceData(want)), at), ldd, from, lds, rows, n)
		RoundRows(typ, to, ldd, from, lds, rows, n, i%5 < 3)
		if !bytes.Equal(dst.mem, want[:len(dst.mem)]) {
			t.Fatalf("%d rows of %d elements of %v, %d bytes apart, to rows %d apart: not what the twin rounds", rows,
				n, typ, lds, ldd)
		}
	}
}

// TestCopyRows compares CopyRows with its twin, between memory that ends, or begins, where a page may not be touched:
// nothing but the rows is written.
func TestCopyRows(t *testing.T) {
	const most, widest = 70, 192
	src, dst := newGuarded(t, most*widest), newGuarded(t, most*widest)
	want := make([]byte, len(dst.mem)+canary) // so that an address may be that of the end
	r := rand.New(rand.NewPCG(71, 1))
	for i := range src.mem {
		src.mem[i] = byte(r.Uint32())
	}
	for i := range 4000 {
		rows, n := r.IntN(most), r.IntN(129)
		if i%2 == 0 {
			n = n / 16 * 16 // the multiples that the assembly takes
		}
		lds, ldd := n+r.IntN(widest-128), n+r.IntN(widest-128)
		for j := range dst.mem {
			dst.mem[j] = 0xa5
		}
		span := func(pitch int) int { return max(0, (rows-1)*pitch+n) }
		from, to := src.first(span(lds)), dst.first(span(ldd))
		if i%3 > 0 {
			from, to = src.last(span(lds)), dst.last(span(ldd))
		}
		copy(want, dst.mem)
		at := int(uintptr(to) - uintptr(unsafe.Pointer(unsafe.SliceData(dst.mem))))
		copyRowsGeneric(unsafe.Add(unsafe.Pointer(unsafe.SliceData(want)), at), ldd, from, lds, rows, n)
		CopyRows(to, ldd, from, lds, rows, n)
		if !bytes.Equal(dst.mem, want[:len(dst.mem)]) {
			t.Fatalf("%d rows of %d bytes, %d apart, to rows %d apart: not what the twin copies", rows, n, lds, ldd)
		}
	}
}

// TestTranspose holds Transpose to its definition, at both ends of the memory of both operands.
func TestTranspose(t *testing.T) {
	for _, typ := range []Type{F32, F64} {
		t.Run(typ.String(), func(t *testing.T) { testTranspose(t, typ) })
	}
}

func testTranspose(t *testing.T, typ Type) {
	const most = 70
	size := typ.Size()
	gap, width := 9*size, TransposeBytes/size
	src, dst := newGuarded(t, width*(most*size+gap)), newGuarded(t, most*TransposeBytes)
	want := make([]byte, most*TransposeBytes)
	r := rand.New(rand.NewPCG(5, 8))
	for i := range src.mem {
		src.mem[i] = byte(r.Uint32())
	}
	for rows := range width + 1 {
		for n := range most + 1 {
			stride, bytesC := n*size+[]int{0, size, gap}[r.IntN(3)], n*TransposeBytes
			span := max(0, (rows-1)*stride+n*size)
			for _, atEnd := range []bool{false, true} {
				from, to := src.first(span), dst.first(bytesC)
				if atEnd {
					from, to = src.last(span), dst.last(bytesC)
				}
				for i := range dst.mem {
					dst.mem[i] = 0xa5
				}
				Transpose(typ, to, from, stride, rows, n)
				got := unsafe.Slice((*byte)(to), bytesC)
				if rows == 0 || n == 0 {
					continue
				}
				clear(want)
				for i := range rows {
					for j := range n {
						copy(want[j*TransposeBytes+i*size:][:size],
							unsafe.Slice((*byte)(unsafe.Add(from, i*stride+j*size)), size))
					}
				}
				if !bytes.Equal(got, want[:bytesC]) {
					t.Fatalf("%d rows of %d, %d bytes apart, at the end %v: not the transpose", rows, n, stride, atEnd)
				}
				if beside := len(dst.mem) - bytesC; bytes.Count(dst.mem, []byte{0xa5}) < beside {
					t.Fatalf("%d rows of %d: wrote beside the transpose", rows, n)
				}
			}
		}
	}
}
