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

// lines are rows of sums, or of C, so many bytes apart.
type lines struct {
	at    unsafe.Pointer
	pitch int
}

// row returns where row i begins, or nil if there are none.
func (l lines) row(i int) unsafe.Pointer { return forward(l.at, i*l.pitch) }

// source returns the src of a kernel that multiplies those elements, with such sums, and its lds.
func (ph phase) source(sums lines) (src lines, lds int) {
	switch {
	case ph.whole && ph.added:
		return sums, -sums.pitch
	case ph.first:
		return lines{}, sums.pitch
	}
	return sums, sums.pitch
}
