//go:build amd64 && !purego

package asm

import "unsafe"

// An edgeTile multiplies r rows by so many vectors of columns as its name says, of the last of which it reads and
// writes the first columns of C, last of them. Short is for few columns in the last vector: it has half the width
// with AVX-512, and with AVX2 is masked, which only then it is. See [EdgeFunc].
type edgeTile func(
	r, k int, a unsafe.Pointer, lda, step int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, last int,
)

// An edgeShape is the edge kernels of a kernel, by vectors of columns.
type edgeShape struct {
	shift        int // logarithm of the words of a vector
	few          int // most columns in the last vector of a short tile
	tiles, short []edgeTile
}

var (
	edgesAVX512BF16 = edgeShape{4, 8,
		[]edgeTile{edge512Pairsx1, edge512Pairsx2},
		[]edgeTile{edgeShort512Pairsx1, edgeShort512Pairsx2}}
	edgesAVX512 = edgeShape{4, 8,
		[]edgeTile{edge512Wordsx1, edge512Wordsx2},
		[]edgeTile{edgeShort512Wordsx1, edgeShort512Wordsx2}}
	edgesAVX2 = edgeShape{3, 7,
		[]edgeTile{edge256Wordsx1, edge256Wordsx2, edge256Wordsx3},
		[]edgeTile{edgeShort256Wordsx1, edgeShort256Wordsx2, edgeShort256Wordsx3}}
)

// multiply is an EdgeFunc.
func (s *edgeShape) multiply(
	r, n, k int, a unsafe.Pointer, lda, step int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int,
) {
	vecs := (n + 1<<s.shift - 1) >> s.shift
	last := n - (vecs-1)<<s.shift
	tiles := s.tiles
	if last <= s.few {
		tiles = s.short
	}
	tiles[vecs-1](r, k, a, lda, step, b, src, lds, dst, ldd, last)
}
