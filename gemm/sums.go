package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// phase is what some elements of K are to its blocks. More fields would not go through registers.
type phase struct {
	begins, ends bool // a block: both, if they are a whole one, which a kernel adds to those before
	added        bool // there are blocks before
	last         bool // they are the last of K
}

// phaseAt says what n elements of K from k0 on are.
func (p *product) phaseAt(k0, n int) phase {
	if n == p.K { // a small product would notice the divisions
		return phase{begins: true, ends: true, last: true}
	}
	block, last := p.ChainK(), k0+n == p.K
	return phase{begins: k0%block == 0, ends: last || (k0+n)%block == 0, added: k0 >= block, last: last}
}

// apart reports whether the sums are those of a part of a block, beside those of the blocks before.
func (ph phase) apart() bool { return ph.added && !(ph.begins && ph.ends) }

// lines are rows of sums, of C or of A, so many bytes apart.
type lines struct {
	at    unsafe.Pointer
	pitch int
}

// row returns where row i begins, or nil if there are none.
func (l lines) row(i int) unsafe.Pointer { return forward(l.at, i*l.pitch) }

// places returns where a kernel finds sums, with its lds, and where it puts them, for those of the blocks before in
// sums and those of parts of a block in chain; and whether these are to be added to those then.
func (p *product) places(ph phase, sums, chain lines) (src lines, lds int, dst lines, adds bool) {
	src, lds, dst = sums, sums.pitch, sums
	switch {
	case ph.apart():
		src, lds, dst, adds = chain, chain.pitch, chain, ph.ends
		if ph.begins {
			src = lines{}
		} else if adds && p.Kernel.Onto() {
			lds, dst, adds = asm.EndChain(lds), sums, false
		}
	case ph.added:
		lds = asm.EndBlock(lds)
	case ph.begins:
		src = lines{}
	}
	return src, lds, dst, adds
}
