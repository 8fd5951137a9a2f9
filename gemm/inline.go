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
	// inlineBytes is the most scratch memory of an inline product: both operands
	// as panels and one strip of accumulators, well inside an L2 cache.
	inlineBytes = streamB + streamAcc
)

// scratch is the memory of one inline product.
type scratch struct{ mem []byte }

var scratches = sync.Pool{New: func() any {
	return &scratch{mem: tile.HeapSlots(inlineBytes)}
}}

// inlineSizes returns the bytes of A's and B's panels and of the accumulators,
// which only a packed B of several stages needs for more than one strip.
func (p *product) inlineSizes() (a, b, acc int) {
	k, depth := p.kernel, p.k
	panelsA, panelsB := ceilDiv(p.m, k.MR), ceilDiv(p.n, k.NR)
	strips := 1
	if p.b.packed {
		depth = min(depth, p.packed.bk)
		if depth < p.k {
			strips = panelsB
		}
		panelsB = 0
	}
	words := p.words(depth)
	return roundUp(panelsA*k.PanelA(words), tile.SlotAlign), roundUp(panelsB*k.PanelB(words), tile.SlotAlign), strips * panelsA * k.MR * k.NR * 4
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
	depth, stripBytes := p.k, 0
	if !p.b.packed {
		p.kernel.PackB(p.b.elem, p.b.trans)(b, p.b.ptr, p.b.stride*p.b.elem.Size(), p.n, p.k)
	} else if depth = min(depth, p.packed.bk); depth < p.k {
		stripBytes = roundUp(p.m, p.kernel.MR) * p.kernel.NR * 4
	}
	packA := p.kernel.PackA(p.a.elem, !p.a.trans)
	for k0 := 0; k0 < p.k; k0 += depth {
		n := min(depth, p.k-k0)
		packA(a, p.a.at(0, k0), p.a.stride*p.a.elem.Size(), p.m, n)
		ph := phase{first: k0 == 0, ends: k0+n == p.k, last: k0+n == p.k}
		p.strips(a, b, acc, stripBytes, k0, n, ph)
	}
}

// strips multiplies all of A, from element k0 of K on, by one panel of B after
// the other.
func (p *product) strips(a, b, acc unsafe.Pointer, stripBytes, k0, n int, ph phase) {
	words := p.words(n)
	if p.b.packed {
		b = p.packed.at(k0, 0)
	}
	step := p.kernel.PanelB(words)
	for col := 0; col < p.n; col += p.kernel.NR {
		j := col / p.kernel.NR
		st := strip{col: col, rows: p.m, cols: min(p.kernel.NR, p.n-col), acc: unsafe.Add(acc, j*stripBytes)}
		p.multiply(&st, words, a, unsafe.Add(b, j*step), ph)
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
