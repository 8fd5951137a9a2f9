package gemm

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/tile"
)

const (
	// inlineFlops is the size of a product up to which a ring costs more than it
	// saves, shareFlops that up to which any hand-over to another core does.
	inlineFlops = 4 << 20
	shareFlops  = 15 << 17
	// inlineBytes is the most scratch memory of an inline product, well inside
	// an L2 cache.
	inlineBytes = streamB + streamAcc
)

// scratch is the memory of one inline product.
type scratch struct{ mem []byte }

var scratches = sync.Pool{New: func() any {
	return &scratch{mem: tile.HeapSlots(inlineBytes)}
}}

// inlined is a product computed on its caller's goroutine without a ring: one
// panel of B after the other is packed, unless B is, and multiplied by all of A.
// A is read where it lies if the kernel can, but for rows that are too few for a
// tile; a panel of B is then packed while it is multiplied by the first tile.
type inlined struct {
	product
	depth    int // elements of K at a time
	whole    int // tiles of A that are read where they lie
	rows     asm.RowsFunc
	fuse     asm.FuseRowsFunc
	sizeA    int // bytes of the panels of A in scratch memory, of a panel of B,
	sizeB    int // and of the accumulators of a strip, of which there is one,
	accBytes int // or as many as there are strips if K has stages
}

// init lays out the product, and reports whether the scratch memory is enough.
func (in *inlined) init() bool {
	p := &in.product
	k := p.kernel
	if p.k == 0 {
		return true
	}
	in.depth = min(p.k, p.panelDepth())
	strips := 1
	if in.depth < p.k {
		strips = ceilDiv(p.n, k.NR)
	}
	panels := ceilDiv(p.m, k.MR)
	if in.rows = k.Rows(p.a.elem); in.rows != nil && p.k%k.KPack == 0 && !p.a.trans {
		if in.whole = panels; panels*k.MR > p.m {
			in.whole--
		}
		if in.whole > 0 && !p.b.packed && !p.b.trans {
			in.fuse = k.FuseRows(p.a.elem)
		}
	}
	words := p.words(in.depth)
	in.sizeA = (panels - in.whole) * k.PanelA(words)
	if !p.b.packed {
		in.sizeB = k.PanelB(words)
	}
	in.accBytes = panels * k.MR * k.NR * 4
	return in.sizeA+in.sizeB+strips*in.accBytes <= inlineBytes-2*tile.SlotAlign
}

// panelDepth returns the elements of K that a panel of B holds at most.
func (p *product) panelDepth() int {
	if p.b.packed {
		return p.packed.bk
	}
	return stageDepth(p.kernel, p.kernel.KStep(p.a.elem)) * p.kernel.KPack
}

// inline reports whether to compute the product inline, and lays it out.
func (in *inlined) inline(s *settings) bool {
	p := &in.product
	flops := p.flops()
	switch {
	case flops <= shareFlops || flops <= inlineFlops && !(s.parallelism() > 1 && in.placed(s)):
		return (p.splitK <= 1 || p.k == 0) && !p.skinny(s) && in.init()
	case flops > placeFlops || s.ctx != nil || s.workerCount() > 1:
		return false
	}
	return in.placed(s)
}

// run computes the columns from .. to-1.
func (in *inlined) run(from, to int) {
	if in.k == 0 {
		in.withoutK()
		return
	}
	s := scratches.Get().(*scratch)
	k := in.kernel
	a := unsafe.Pointer(unsafe.SliceData(s.mem))
	b := unsafe.Add(a, roundUp(in.sizeA, tile.SlotAlign))
	acc := unsafe.Add(b, roundUp(in.sizeB, tile.SlotAlign))
	first := in.whole * k.MR // row of A that is packed
	for k0 := 0; k0 < in.k; k0 += in.depth {
		n := min(in.depth, in.k-k0)
		words := in.words(n)
		ph := phase{first: k0 == 0, ends: k0+n == in.k, last: k0+n == in.k}
		if first < in.m {
			k.PackA(in.a.elem, !in.a.trans)(a, in.a.at(first, k0), in.a.pitch(), in.m-first, n)
		}
		acc := acc
		for col := from; col < to; col += k.NR {
			cols := min(k.NR, to-col)
			panel, fuse := b, in.fuse
			switch {
			case in.b.packed:
				panel = in.packed.at(k0, col)
			case fuse == nil || cols < k.NR:
				k.PackB(in.b.elem, in.b.trans)(b, in.b.at(k0, col), in.b.pitch(), cols, n)
				fuse = nil
			}
			if in.whole > 0 {
				in.tiles(k0, n, col, cols, panel, acc, fuse, ph)
			}
			if first < in.m {
				st := strip{row: first, col: col, rows: in.m - first, cols: cols, acc: unsafe.Add(acc, first*k.NR*4)}
				in.multiply(&st, words, a, panel, ph)
			}
			if in.depth < in.k {
				acc = unsafe.Add(acc, in.accBytes)
			}
		}
	}
	scratches.Put(s)
}

// tiles multiplies n elements of K from k0 on of the tiles of A that are read
// where they lie by one panel of B, which fuse, if it is not nil, packs.
func (in *inlined) tiles(k0, n, col, cols int, b, acc unsafe.Pointer, fuse asm.FuseRowsFunc, ph phase) {
	k := in.kernel
	a, lda := in.a.at(0, k0), in.a.pitch()
	dst, ldd := acc, k.NR*4
	direct := ph.last && in.direct() && cols == k.NR
	if direct {
		dst, ldd = in.c.at(0, col), in.c.pitch()
	}
	src := acc
	if ph.first {
		src = nil
	}
	done := 0
	if fuse != nil {
		fuse(n, a, in.b.at(k0, col), in.b.pitch(), b, src, k.NR*4, dst, ldd, lda)
		done = 1
	}
	if done < in.whole {
		rows := in.rows
		if cols <= k.NR/2 {
			rows = k.RowsHalf(in.a.elem)
		}
		if src != nil {
			src = unsafe.Add(src, done*k.MR*k.NR*4)
		}
		rows(in.words(n), in.whole-done, unsafe.Add(a, done*k.MR*lda), b, src, k.NR*4, unsafe.Add(dst, done*k.MR*ldd), ldd, lda)
	}
	if ph.last && !direct {
		in.epilogue(acc, 0, col, in.whole*k.MR, cols)
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
