package gemm

import (
	"unsafe"

	"example.com/leafhopper/tile"
)

// Few rows by a B that is too small to be streamed are multiplied by the kernels that
// stream: a tile computes all of its rows, however few are wanted, and a B that is not
// packed is read where it lies.
const (
	fewSmall = 1 << 12                        // elements of a transposed B up to which to pack it takes no time
	fewBytes = inlineBytes/2 - tile.SlotAlign // of scratch memory for A, and for sums
)

// fewRows reports whether the kernels that stream are faster for p.
func (p *product) fewRows() bool {
	k := p.kernel
	switch {
	case p.c.trans: // B is packed, see epilogue
		return false
	case p.b.packed && k.StreamPanels(p.b.elem) == nil:
		return false
	case !p.b.packed && (p.n*p.k >= streamMin || k.Stream(p.b.elem, p.b.trans) == nil):
		return false
	}
	most := k.MR * 3 / 4
	switch {
	case p.starves():
		most = sweepFewest - 1
	case p.b.trans:
		most = k.MR / 2
	}
	if p.b.trans && p.n*p.k <= fewSmall {
		most /= 4
	}
	return p.m <= most && max(k.PanelA(p.words(p.k)), p.m*p.n*4) <= fewBytes
}

// runFewRows computes the columns from .. to-1.
func (in *inlined) runFewRows(from, to int) {
	k, cols, depth := in.kernel, to-from, in.k
	if in.b.packed {
		depth = in.packed.bk
	}
	s := scratches.Get().(*scratch)
	a := s.at()
	dst, ldd := in.c.at(0, from), in.c.pitch()
	if !in.direct() {
		dst, ldd = unsafe.Add(a, inlineBytes/2), cols*4
	}
	var src unsafe.Pointer
	for k0 := 0; k0 < in.k; k0 += depth {
		n := min(depth, in.k-k0)
		k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(0, k0), in.a.pitch(), in.m, n)
		if in.b.packed {
			k.StreamPanels(in.b.elem)(in.words(n), in.m, cols, a, in.packed.at(k0, from), in.packed.panel(n), src, ldd, dst, ldd)
		} else {
			k.Stream(in.b.elem, in.b.trans)(n, in.m, cols, a, in.b.at(k0, from), in.b.pitch(), src, ldd, dst, ldd)
		}
		src = dst
	}
	if !in.direct() {
		in.storeWide(from, dst, ldd, in.m, cols)
	}
	scratches.Put(s)
}
