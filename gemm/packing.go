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
	b      view        // packed
	size   int         // bytes of [stage of K][stored panel], or of the elements of a single column
}

// newPacking returns that of rows x cols elements of type t, without memory.
func newPacking(k *asm.Kernel, t asm.Type, rows, cols int) packing {
	return packing{kernel: k, b: view{rows: rows, cols: cols, stride: plan.StageElements(k, t), elem: t, packed: true}}
}

// hold gives p memory of n bytes, and returns it.
func (p *packing) hold(n int) []byte {
	p.b.ptr, p.size = unsafe.Pointer(unsafe.SliceData(tile.HeapSlots(n))), n
	return p.data()
}

func (p *packing) data() []byte { return unsafe.Slice((*byte)(p.b.ptr), p.size) }

// fill packs b.
func (p *packing) fill(b *view) {
	data, to := p.hold(int(p.wants())), &p.b
	switch {
	case len(data) == 0:
		return // no elements, however many rows or columns
	case b.cols == 1 && !b.trans:
		asm.CopyRows(to.ptr, b.elem.Size(), b.ptr, b.pitch(), b.rows, b.elem.Size())
		return
	case b.cols == 1:
		copy(data, unsafe.Slice((*byte)(b.ptr), len(data)))
		return
	}
	for k0 := 0; k0 < b.rows; k0 += to.stride {
		store, n := p.kernel.StoreB(b.elem, b.trans), min(to.stride, b.rows-k0)
		store(to.panel(p.kernel, k0, 0), b.at(k0, 0), b.pitch(), b.cols, n)
	}
}

// wants returns the bytes of all panels. It cannot overflow: an element, of which B has them
// all, takes 16 KB at most.
func (p *packing) wants() int64 {
	b := &p.b
	if b.cols == 1 {
		return int64(b.rows) * int64(b.elem.Size())
	}
	strip := int64(b.rows/b.stride) * int64(p.kernel.StoredB(b.elem, b.stride))
	if rest := b.rows % b.stride; rest > 0 {
		strip += int64(p.kernel.StoredB(b.elem, rest))
	}
	return int64(plan.CeilDiv(b.cols, p.kernel.NR)) * strip
}

// panel returns the panel of column col in the stage of element k0 of K, for a v packed for k. If the panel is narrow,
// k0 may begin a block in it. A small product notices every division.
func (v *view) panel(k *asm.Kernel, k0, col int) unsafe.Pointer {
	n := 0
	if k0 > 0 {
		whole := k0 / v.stride
		n = whole*plan.CeilDiv(v.cols, k.NR)*k.StoredB(v.elem, v.stride) + (k0-whole*v.stride)*k.NR*v.elem.Size()
	}
	if col > 0 {
		n += col / k.NR * v.panelPitch(k, k0)
	}
	return unsafe.Add(v.ptr, n)
}

// panelPitch returns the bytes from a panel of the stage of element k0 of K to the next.
func (v *view) panelPitch(k *asm.Kernel, k0 int) int {
	return k.StoredB(v.elem, min(v.stride, v.rows-k0&^(v.stride-1)))
}
