//go:build amd64 && !purego

package asm

import "unsafe"

// An edgeTile multiplies r rows by so many vectors of columns as its name says, of the last of which it reads and
// writes the first columns of C, last of them. The fifth row of A lies so many bytes from the first. Short is for few
// columns in the last vector: it has half the width with AVX-512, and with AVX2 is masked, which only then it is. See
// [EdgeFunc].
type edgeTile func(
	r, k int, a unsafe.Pointer, lda, fifth, step int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, last int,
)

// An edgeShape is the edge kernels of a kernel, by vectors of columns.
type edgeShape struct {
	mr           int // rows of a tile of the kernel
	shift        int // logarithm of the words of a vector
	few          int // most columns in the last vector of a short tile
	tiles, short []edgeTile
	rows         []int // of those, at most
}

var (
	edgesAVX512BF16 = edgeShape{8, 4, 8,
		[]edgeTile{edge512Pairsx1, edge512Pairsx2},
		[]edgeTile{edgeShort512Pairsx1, edgeShort512Pairsx2},
		[]int{8, 8}}
	edgesAVX512 = edgeShape{8, 4, 8,
		[]edgeTile{edge512Wordsx1, edge512Wordsx2},
		[]edgeTile{edgeShort512Wordsx1, edgeShort512Wordsx2},
		[]int{8, 8}}
	edgesAVX2 = edgeShape{4, 3, 7,
		[]edgeTile{edge256Wordsx1, edge256Wordsx2, edge256Wordsx3},
		[]edgeTile{edgeShort256Wordsx1, edgeShort256Wordsx2, edgeShort256Wordsx3},
		[]int{8, 4, 4}}
	edgesAVX512F64 = edgeShape{8, 3, 4,
		[]edgeTile{edge512Doublesx1, edge512Doublesx2},
		[]edgeTile{edgeShort512Doublesx1, edgeShort512Doublesx2},
		[]int{8, 8}}
	edgesAVX2F64 = edgeShape{4, 2, 3,
		[]edgeTile{edge256Doublesx1, edge256Doublesx2, edge256Doublesx3},
		[]edgeTile{edgeShort256Doublesx1, edgeShort256Doublesx2, edgeShort256Doublesx3},
		[]int{8, 4, 4}}
)

// multiply is an EdgeFunc.
func (s *edgeShape) multiply(
	r, n, k int, a unsafe.Pointer, lda, step, next int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int,
) {
	vecs := (n + 1<<s.shift - 1) >> s.shift
	last := n - (vecs-1)<<s.shift
	tiles := s.tiles
	if last <= s.few {
		tiles = s.short
	}
	fifth := 4 * lda
	if s.mr == 4 {
		fifth = next
	}
	for most, apart := s.rows[vecs-1], pitchOf(lds); ; r -= most {
		tiles[vecs-1](min(r, most), k, a, lda, fifth, step, b, src, lds, dst, ldd, last)
		if r <= most {
			return // nothing lies behind the last row
		}
		a, dst = unsafe.Add(a, most/s.mr*next), unsafe.Add(dst, most*ldd)
		if src != nil {
			src = unsafe.Add(src, most*apart)
		}
	}
}
