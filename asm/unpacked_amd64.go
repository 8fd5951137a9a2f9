//go:build amd64 && !purego

package asm

import (
	"math"
	"unsafe"
)

// An unpackedStrip multiplies r rows of A at a time, m in all, by one to three vectors of columns of B, as many as
// its name says; of the last vector it reads and writes the first columns, last of them. Unless add is 0 it adds to
// what is there. Across has K across the rows of A. Short is for few columns in the last vector: it has half the
// width with AVX-512, and with AVX2 is masked, which only then it is. See [UnpackedFunc].
type unpackedStrip func(
	r, m, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd, last, add int,
)

// An unpackedShape is the strips of a kernel, by vectors of columns.
type unpackedShape struct {
	mr            int  // rows of the largest tile
	shift         uint // logarithm of the words of a vector
	size          int  // of a word
	few           int  // most columns in the last vector of a short strip
	strips, short []unpackedStrip
	wide          []unpackedWide // from the fewest rows and most vectors on
	across        bool           // K lies across the rows of A
}

// An unpackedWide is a strip of so many whole vectors for at most so many rows of A.
type unpackedWide struct {
	rows, vecs int
	strip      unpackedStrip
}

var (
	unpackedAVX512 = unpackedShape{8, 4, 4, 8,
		[]unpackedStrip{unpacked512Wordsx1, unpacked512Wordsx2, unpacked512Wordsx3},
		[]unpackedStrip{unpackedShort512Wordsx1, unpackedShort512Wordsx2, unpackedShort512Wordsx3},
		[]unpackedWide{{1, 16, unpacked512Wordsx16}, {2, 8, unpacked512Wordsx8}, {4, 6, unpacked512Wordsx6}}, false}
	unpackedAcrossAVX512 = unpackedShape{8, 4, 4, 8,
		[]unpackedStrip{unpackedAcross512Wordsx1, unpackedAcross512Wordsx2, unpackedAcross512Wordsx3},
		[]unpackedStrip{unpackedAcrossShort512Wordsx1, unpackedAcrossShort512Wordsx2, unpackedAcrossShort512Wordsx3},
		[]unpackedWide{{1, 16, unpackedAcross512Wordsx16}, {2, 8, unpackedAcross512Wordsx8},
			{4, 6, unpackedAcross512Wordsx6}}, true}
	unpackedAVX2 = unpackedShape{6, 3, 4, 7,
		[]unpackedStrip{unpacked256Wordsx1, unpacked256Wordsx2},
		[]unpackedStrip{unpackedShort256Wordsx1, unpackedShort256Wordsx2},
		[]unpackedWide{{1, 8, unpacked256Wordsx8}, {2, 4, unpacked256Wordsx4}, {3, 3, unpacked256Wordsx3}}, false}
	unpackedAcrossAVX2 = unpackedShape{6, 3, 4, 7,
		[]unpackedStrip{unpackedAcross256Wordsx1, unpackedAcross256Wordsx2},
		[]unpackedStrip{unpackedAcrossShort256Wordsx1, unpackedAcrossShort256Wordsx2},
		[]unpackedWide{{1, 8, unpackedAcross256Wordsx8}, {2, 4, unpackedAcross256Wordsx4},
			{3, 3, unpackedAcross256Wordsx3}}, true}

	unpackedAVX512F64 = unpackedShape{8, 3, 8, 4,
		[]unpackedStrip{unpacked512Doublesx1, unpacked512Doublesx2, unpacked512Doublesx3},
		[]unpackedStrip{unpackedShort512Doublesx1, unpackedShort512Doublesx2, unpackedShort512Doublesx3},
		[]unpackedWide{{1, 16, unpacked512Doublesx16}, {2, 8, unpacked512Doublesx8},
			{4, 6, unpacked512Doublesx6}}, false}
	unpackedAcrossAVX512F64 = unpackedShape{8, 3, 8, 4,
		[]unpackedStrip{unpackedAcross512Doublesx1, unpackedAcross512Doublesx2, unpackedAcross512Doublesx3},
		[]unpackedStrip{unpackedAcrossShort512Doublesx1, unpackedAcrossShort512Doublesx2,
			unpackedAcrossShort512Doublesx3},
		[]unpackedWide{{1, 16, unpackedAcross512Doublesx16}, {2, 8, unpackedAcross512Doublesx8},
			{4, 6, unpackedAcross512Doublesx6}}, true}
	unpackedAVX2F64 = unpackedShape{6, 2, 8, 3,
		[]unpackedStrip{unpacked256Doublesx1, unpacked256Doublesx2},
		[]unpackedStrip{unpackedShort256Doublesx1, unpackedShort256Doublesx2},
		[]unpackedWide{{1, 8, unpacked256Doublesx8}, {2, 4, unpacked256Doublesx4}, {3, 3, unpacked256Doublesx3}}, false}
	unpackedAcrossAVX2F64 = unpackedShape{6, 2, 8, 3,
		[]unpackedStrip{unpackedAcross256Doublesx1, unpackedAcross256Doublesx2},
		[]unpackedStrip{unpackedAcrossShort256Doublesx1, unpackedAcrossShort256Doublesx2},
		[]unpackedWide{{1, 8, unpackedAcross256Doublesx8}, {2, 4, unpackedAcross256Doublesx4},
			{3, 3, unpackedAcross256Doublesx3}}, true}
)

// unpackedOf returns how strips multiply what is not packed, beside what does a vector, or nil, and by panels.
func unpackedOf(along, across *unpackedShape, vector, panels VectorFunc) *Unpacked {
	return &Unpacked{
		Along: along.multiply(), Across: across.multiply(),
		Vector: [...]VectorFunc{VectorAlong: vector, VectorPanels: panels},
		Deep:   [...]int{F32.Block(), math.MaxInt, F32.Block()},
		Rows:   along.mr, Columns: len(along.strips) << along.shift,
	}
}

// A vectorPanels multiplies a row of A by as many vectors of columns of two panels of B as its name says, of the last
// by the first columns, last of them. Unless add is 0 it adds to what is there. See [Unpacked].
type vectorPanels func(
	k int, a unsafe.Pointer, stepA int, b unsafe.Pointer, pitch int, dst unsafe.Pointer, last, add int,
)

var (
	panelsAVX512 = []vectorPanels{vectorPanels512Wordsx1, vectorPanels512Wordsx2, vectorPanels512Wordsx3,
		vectorPanels512Wordsx4}
	panelsAVX2 = []vectorPanels{vectorPanels256Wordsx1, vectorPanels256Wordsx2, vectorPanels256Wordsx3,
		vectorPanels256Wordsx4, vectorPanels256Wordsx5, vectorPanels256Wordsx6}
	panelsAVX512F64 = []vectorPanels{vectorPanels512Doublesx1, vectorPanels512Doublesx2, vectorPanels512Doublesx3,
		vectorPanels512Doublesx4}
	panelsAVX2F64 = []vectorPanels{vectorPanels256Doublesx1, vectorPanels256Doublesx2, vectorPanels256Doublesx3,
		vectorPanels256Doublesx4, vectorPanels256Doublesx5, vectorPanels256Doublesx6}
)

// vectorPanelsOf returns the VectorFunc for panels, of kernels for vectors of 1<<shift words of a size.
func vectorPanelsOf(kernels []vectorPanels, shift, size int) VectorFunc {
	return func(k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add bool) {
		adds := addFlag(add)
		for {
			before := min(len(kernels), (n+1<<shift-1)>>shift) - 1
			kernels[before](k, a, stepA, b, k*stride, dst, min(n-before<<shift, 1<<shift), adds)
			if n -= len(kernels) << shift; n <= 0 {
				return // nothing lies behind the last panel
			}
			b, dst = unsafe.Add(b, 2*k*stride), unsafe.Add(dst, len(kernels)<<shift*size)
		}
	}
}

// addFlag returns add as the assembly takes it.
func addFlag(add bool) int {
	if add {
		return 1
	}
	return 0
}

// A vectorAlong multiplies k words of A by n rows of B, as many at least as a vector has words; see [VectorFunc]. It
// brings rows closer that lie so many bytes ahead.
type vectorAlong func(
	k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add, ahead int,
)

const (
	vectorBytes = 4 << 20  // of B of a call at most, about 100 µs from memory
	vectorAhead = 8 << 10  // bytes that are brought closer ahead, of all rows of a vector
	vectorShort = 32 << 10 // bytes of so many rows up to which the next ones are, instead
)

var (
	vector512    = vectorOf(vectorAlong512Words, 4, &unpackedAVX512)
	vector512F64 = vectorOf(vectorAlong512Doubles, 8, &unpackedAVX512F64)
)

// vectorOf returns the VectorFunc for columns along K, of words of a size. What a vector has too few columns for the
// strips multiply, as rows of an A.
func vectorOf(along vectorAlong, size int, strips *unpackedShape) VectorFunc {
	rows, most := 64/size, vectorBytes/size // words of a vector, and of a call
	deepest, few := most/rows, strips.multiply()
	var vector VectorFunc
	vector = func(k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add bool) {
		for ; k > deepest; k -= deepest {
			vector(deepest, n, a, stepA, b, stride, dst, add)
			a, b, add = unsafe.Add(a, deepest*stepA), unsafe.Add(b, deepest*size), true
		}
		adds := addFlag(add)
		ahead := vectorAhead / rows
		if rows*stride <= vectorShort {
			ahead = rows * stride
		}
		for n >= rows {
			some := n
			if n*k > most {
				some = min(n, max(1, most/k/rows)*rows)
			}
			along(k, some, a, stepA, b, stride, dst, adds, ahead)
			if n -= some; n == 0 {
				return // nothing lies behind the last row
			}
			b, dst = unsafe.Add(b, some*stride), unsafe.Add(dst, some*size)
		}
		for k0 := 0; k0 < k; k0 += F32.Block() {
			few(n, 1, min(F32.Block(), k-k0),
				unsafe.Add(b, k0*size), stride, unsafe.Add(a, k0*stepA), stepA, dst, size, add || k0 > 0)
		}
	}
	return vector
}

// multiply returns the UnpackedFunc of the strips. Few rows have wide strips, as many as are whole. Other strips, and
// tiles, are as equal as they can be: few accumulators would wait for each other. A small product notices divisions, so
// there are none where one strip or tile is all, and to pass so much on to another function.
func (s *unpackedShape) multiply() UnpackedFunc {
	return func(
		m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd int, add bool,
	) {
		adds := addFlag(add)
		shift, strips := s.shift&63, 1 // of which no shift has to be checked
		vecs := (n + 1<<shift - 1) >> shift
		col := 0
		if vecs > len(s.strips) {
			for _, w := range s.wide {
				for ; m <= w.rows && n-col >= w.vecs<<shift; col += w.vecs << shift {
					w.strip(m, m, k, a, lda, unsafe.Add(b, col*s.size), ldb, unsafe.Add(dst, col*s.size), ldd,
						1<<shift, adds)
					vecs -= w.vecs
				}
			}
			if vecs == 0 {
				return
			}
			strips = (vecs + len(s.strips) - 1) / len(s.strips)
		}
		for ; ; strips-- {
			wide := vecs
			if strips > 1 {
				wide = (vecs + strips - 1) / strips
			}
			cols := min(n-col, wide<<shift)
			last := cols - (wide-1)<<shift
			strip := s.strips[wide-1]
			if last <= s.few {
				strip = s.short[wide-1]
			}
			b, dst := unsafe.Add(b, col*s.size), unsafe.Add(dst, col*s.size)
			if m <= s.mr {
				strip(m, m, k, a, lda, b, ldb, dst, ldd, last, adds)
			} else {
				s.rows(strip, m, cols, k, a, lda, b, ldb, dst, ldd, last, adds)
			}
			if strips == 1 {
				return
			}
			vecs, col = vecs-wide, col+cols
		}
	}
}

// rows multiplies the rows of a strip.
func (s *unpackedShape) rows(
	strip unpackedStrip, m, cols, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int,
	dst unsafe.Pointer, ldd, last, adds int,
) {
	rowA := lda
	if s.across {
		rowA = s.size
	}
	tiles := (m + s.mr - 1) / s.mr
	most := tiles // of a call
	if flops := unpackedFlops * 4 / s.size; 2*m*cols*k > flops {
		most = max(1, flops/(2*s.mr*cols*k))
	}
	for row := 0; row < m; {
		high := (m - row + tiles - 1) / tiles
		now := min(m-row-(high-1)*tiles, most) // tiles that are so high; the others have a row less
		strip(high, now*high, k, unsafe.Add(a, row*rowA), lda, b, ldb, unsafe.Add(dst, row*ldd), ldd, last, adds)
		row, tiles = row+now*high, tiles-now
	}
}
