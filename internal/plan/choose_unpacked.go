package plan

import "example.com/leafhopper/asm"

// A product whose operands the kernel reads where they lie needs no panels, and its tiles are as wide and as high as it
// wants. That is faster for few rows, for what does not divide into the tiles that panels have, and where a call
// notices every nanosecond. But B is read again for every tile of rows, and not line after line.

const (
	tinyWork = 1 << 16 // multiply-adds that are too few to think about
	thinRows = 4       // rows that are not fewer than a kernel for unpacked operands wants
)

// unpacked returns the kernel's way to multiply the operands where they lie, or nil.
func (q *Problem) unpacked() *asm.Unpacked {
	if q.ElemA != q.ElemB {
		return nil
	}
	return q.Kernel.Unpacked(q.Elem)
}

// Tiny reports whether the kernel multiplies them so, and they are so small that to look for a faster way takes longer,
// but K no deeper than dot products may be. A panel of words is rows of K, too; several panels, or what lies along K,
// are for a vector.
func (q *Problem) Tiny() bool {
	u := q.unpacked()
	// An int counts them wherever there is such a kernel.
	if u == nil || q.M*q.N*q.K > tinyWork || q.K >= dotBlocks*q.Elem.Block() {
		return false
	}
	switch q.FormB {
	case AlongK:
		return q.M == 1 && u.Vector[AlongK] != nil
	case InPanels:
		return q.N <= q.Kernel.NR || q.M == 1
	}
	return true
}

// readsFast reports whether it is faster to multiply operands where they lie than to pack them.
func (q *Problem) readsFast() bool {
	u, on, workers := q.unpacked(), q.On, q.AtOnce()
	if u == nil || q.exceeds(1) {
		return false
	}
	size := q.sizeB()
	switch {
	case q.FormB != InRows:
		return q.M == 1 && size <= on.unpackedThin[q.FormB]
	case workers > 1 && q.M <= u.Rows && q.held(workers, on.unpackedHeld):
		return true
	case q.M < thinRows:
		return size <= min(on.unpackedThin[InRows], 4*on.l2)
	case q.N <= u.Columns, q.M <= on.unpackedTall:
		return size <= min(on.unpacked, 4*on.l2)
	}
	return q.Flops() <= on.unpackedSmall
}
