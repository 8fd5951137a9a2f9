package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/tile"
)

// packing is a Packed without its type parameter.
type packing struct {
	kernel *asm.Kernel // nil in a zero Packed
	elem   asm.Type
	k, n   int    // of B
	first  int    // element of K that counts as the first
	bk     int    // elements of K in a stage, a power of two
	data   []byte // [stage of K][stored panel], or the elements of a single column
}

// fill packs b.
func (p *packing) fill(b view) {
	p.data = tile.HeapSlots(int(p.size()))
	switch {
	case len(p.data) == 0:
		return // no elements, however many rows or columns
	case p.n == 1 && !b.trans:
		asm.CopyRows(p.column().ptr, p.elem.Size(), b.ptr, b.pitch(), p.k, p.elem.Size())
		return
	case p.n == 1:
		copy(p.data, unsafe.Slice((*byte)(b.ptr), len(p.data)))
		return
	}
	for k0 := 0; k0 < p.k; k0 += p.bk {
		p.kernel.StoreB(p.elem, b.trans)(p.at(k0, 0), b.at(k0, 0), b.pitch(), p.n, min(p.bk, p.k-k0))
	}
}

// column returns the only column, which is never multiplied as a panel: that would be as wide as the kernel's.
func (p *packing) column() view {
	return view{ptr: unsafe.Pointer(unsafe.SliceData(p.data)), rows: p.k, cols: 1, stride: 1, len: p.k, elem: p.elem}
}

// size returns the bytes of all panels. It cannot overflow: an element, of which B has them
// all, takes 16 KB at most.
func (p *packing) size() int64 {
	if p.n == 1 {
		return int64(p.k) * int64(p.elem.Size())
	}
	strip := int64(p.k/p.bk) * int64(p.panel(p.bk))
	if rest := p.k % p.bk; rest > 0 {
		strip += int64(p.panel(rest))
	}
	return int64(plan.CeilDiv(p.n, p.kernel.NR)) * strip
}

// offset returns where the panel of column col begins in the stage of element
// k0 of K. A small product notices every division.
func (p *packing) offset(k0, col int) int {
	n := 0
	if k0 += p.first; k0 > 0 {
		panels, whole := plan.CeilDiv(p.n, p.kernel.NR), k0/p.bk
		n = whole * panels * p.panel(p.bk)
		n += (k0 - whole*p.bk) * p.kernel.NR * p.elem.Size() // which begins a block in a narrow panel, or is 0
	}
	if col > 0 {
		n += col / p.kernel.NR * p.pitch(k0-p.first)
	}
	return n
}

// pitch returns the bytes from a panel of the stage of element k0 of K to the next.
func (p *packing) pitch(k0 int) int {
	k0 = (k0 + p.first) &^ (p.bk - 1)
	return p.panel(min(p.bk, p.k-k0))
}

// panel returns the bytes of a panel n elements of K deep.
func (p *packing) panel(n int) int { return p.kernel.StoredB(p.elem, n) }

// at returns the panel of column col in the stage of element k0 of K.
func (p *packing) at(k0, col int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(p.data[p.offset(k0, col):]))
}

// from returns the packed B without what is before element k0 of K, which begins a stage, or a block in a narrow one.
func (p *packing) from(k0 int) packing {
	rest := *p
	rest.first += k0
	return rest
}
