package gemm

import "unsafe"

// phase is what some elements of K are to its blocks.
type phase struct {
	first, ends bool // the first and the last of a block
	whole       bool // a block, which a kernel adds to those before
	added       bool // there are blocks before
	last        bool // the last of K
}

// phaseAt says what n elements of K from k0 on are.
func (p *product) phaseAt(k0, n int) phase {
	if n == p.k { // a small product would notice the divisions
		return phase{first: true, ends: true, whole: true, last: true}
	}
	block, last := p.chainK(), k0+n == p.k
	ph := phase{first: k0%block == 0, ends: last || (k0+n)%block == 0, added: k0 >= block, last: last}
	ph.whole = ph.first && ph.ends
	return ph
}

// source returns the src and lds of a kernel that multiplies those elements, with
// sums at p, in rows pitch bytes apart.
func (ph phase) source(p unsafe.Pointer, pitch int) (src unsafe.Pointer, lds int) {
	switch {
	case ph.whole && ph.added:
		return p, -pitch
	case ph.first:
		return nil, pitch
	}
	return p, pitch
}
