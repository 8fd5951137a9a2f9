package gemm

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/tile"
)

const (
	// inlineFlops is the size of a product up to which a hand-over to another
	// core costs more than it saves.
	inlineFlops = 4 << 20
	// inlineBytes is the size of the scratch memory of an inline product: both
	// operands as panels and one strip of accumulators, well inside an L2 cache.
	inlineBytes = 384 << 10
)

// scratch is the memory of one inline product.
type scratch struct{ mem []byte }

var scratches = sync.Pool{New: func() any {
	return &scratch{mem: tile.HeapSlots(inlineBytes)}
}}

// inlineSizes returns the bytes of A's and B's panels and of the accumulators
// of one strip.
func (p *product) inlineSizes() (a, b, acc int) {
	k := p.kernel
	panelsA, panelsB, words := ceilDiv(p.m, k.MR), ceilDiv(p.n, k.NR), p.words(p.k)
	return roundUp(panelsA*k.PanelA(words), tile.SlotAlign), roundUp(panelsB*k.PanelB(words), tile.SlotAlign), panelsA * k.MR * k.NR * 4
}

// small reports whether the product runs on the caller's goroutine without a
// ring.
func (p *product) small() bool {
	if p.k == 0 {
		return true
	}
	if p.splitK > 1 {
		return false
	}
	if p.m > inlineFlops || p.n > inlineFlops || p.k > inlineFlops {
		return false
	}
	if 2*p.m*p.n*p.k > inlineFlops {
		return false
	}
	a, b, acc := p.inlineSizes()
	return a+b+acc <= inlineBytes
}

// inline computes a small product on the caller's goroutine.
func (p *product) inline() {
	if p.k == 0 {
		p.withoutK()
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	sizeA, sizeB, _ := p.inlineSizes()
	mem := unsafe.Pointer(unsafe.SliceData(s.mem))
	a, b, acc := mem, unsafe.Add(mem, sizeA), unsafe.Add(mem, sizeA+sizeB)
	k, words := p.kernel, p.words(p.k)
	k.PackA(p.a.elem, !p.a.trans)(a, p.a.ptr, p.a.stride*p.a.elem.Size(), p.m, p.k)
	k.PackB(p.b.elem, p.b.trans)(b, p.b.ptr, p.b.stride*p.b.elem.Size(), p.n, p.k)
	for col := 0; col < p.n; col += k.NR {
		st := strip{col: col, rows: p.m, cols: min(k.NR, p.n-col), acc: acc}
		p.multiply(&st, words, a, b, phase{first: true, ends: true, last: true})
		b = unsafe.Add(b, k.PanelB(words))
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
