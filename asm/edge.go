package asm

import (
	"slices"
	"unsafe"
)

// An EdgeFunc is a [KernelFunc] for the edges of C. It computes the first r rows and n columns of tiles one below the
// other, both at least 1, in the time that so many rows and vectors of columns take, and neither reads the rest from
// src nor writes it to dst. Word p of row i of A's tile t is at a + t·next + i·lda + p·step: lda and step are the
// size of a word and MR times that in a panel, and anything where A is read where it lies. b is one whole panel.
type EdgeFunc func(
	r, n, k int, a unsafe.Pointer, lda, step, next int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int,
)

// Edge returns the kernel's EdgeFunc, or nil if it has none.
func (k *Kernel) Edge() EdgeFunc { return k.edge }

// edgeGeneric is the twin of the kernels of kern for edges; mul is the kernel's Mul or Ref.
func edgeGeneric(kern *Kernel, mul KernelFunc) EdgeFunc {
	if kern.Sum == F64 {
		return edgeGenericOf[float64](kern, mul)
	}
	return edgeGenericOf[float32](kern, mul)
}

// edgeGenericOf is edgeGeneric for words of the size of F.
func edgeGenericOf[F float](kern *Kernel, mul KernelFunc) EdgeFunc {
	return func(
		r, n, k int, a unsafe.Pointer, lda, step, next int, b, src unsafe.Pointer, lds int,
		dst unsafe.Pointer, ldd int,
	) {
		tiles := (r + kern.MR - 1) / kern.MR
		panels, tile := make([]F, max(1, tiles*kern.MR*k)), make([]F, tiles*kern.MR*kern.NR)
		for i := range r {
			t, row := i/kern.MR, i%kern.MR
			for p := range k {
				panels[(t*k+p)*kern.MR+row] = *(*F)(unsafe.Add(a, t*next+row*lda+p*step))
			}
		}
		row := func(p unsafe.Pointer, i, ld int) []F { return unsafe.Slice((*F)(unsafe.Add(p, i*ld)), n) }
		out := slices.Clone(tile)
		from, pitch, apart := unsafe.Pointer(unsafe.SliceData(tile)), kern.NR*kern.Word, pitchOf(lds)
		if src == nil {
			from = nil
		}
		switch {
		case endsBlock(lds):
			pitch = EndBlock(pitch)
		case endsChain(lds):
			pitch = EndChain(pitch)
		}
		for i := range r {
			copy(out[i*kern.NR:], row(dst, i, ldd))
			if src != nil {
				copy(tile[i*kern.NR:], row(src, i, apart))
			}
		}
		mul(k, tiles, unsafe.Pointer(unsafe.SliceData(panels)), b, from, pitch,
			unsafe.Pointer(unsafe.SliceData(out)), kern.NR*kern.Word)
		for i := range r {
			copy(row(dst, i, ldd), out[i*kern.NR:])
		}
	}
}
