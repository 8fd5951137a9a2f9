package gemm

import "example.com/leafhopper/asm"

// A product whose operands the kernel reads where they lie needs no panels, and its
// tiles are as wide and as high as it wants. That is faster for few rows, for what
// does not divide into the tiles that panels have, and where a call notices every
// nanosecond. But B is read again for every tile of rows, and not line after line.

const (
	tinyWork = 1 << 16 // multiply-adds that are too few to think about
	thinRows = 4       // rows that are not fewer than a kernel for unpacked operands wants
)

// tiny returns the kernel's way to multiply the operands where they lie, if they are so small that to look for a
// faster way takes longer, and K is no deeper than dot products may be. Panels of words are rows of K, too, but a strip
// each; what lies along K is for a vector.
func (q *problem) tiny() *asm.Unpacked {
	u := q.kernel.Unpacked(q.elem)
	if u == nil {
		return nil
	}
	fits := true
	switch q.formB {
	case alongK:
		fits = q.m == 1 && u.Vector != nil
	case inPanels:
		fits = q.n <= q.kernel.NR || q.m == 1 && q.n*q.k <= tinyWork/4
	}
	// An int counts them wherever there is such a kernel.
	if !fits || q.elemA != q.elemB || q.m*q.n*q.k > tinyWork || q.k >= dotBlocks*q.elem.Block() {
		return nil
	}
	return u
}

// readsBoth returns the kernel's way to multiply the operands where they lie, or nil.
func (q *problem) readsBoth() *asm.Unpacked {
	if q.formB != inRows || q.elemA != q.elemB {
		return nil
	}
	return q.kernel.Unpacked(q.elem)
}

// readsFast reports whether that is faster than to pack operands.
func (q *problem) readsFast() bool {
	u, on, workers := q.readsBoth(), q.on, q.atOnce()
	if u == nil || q.exceeds(1) {
		return false
	}
	size := q.sizeB()
	far := float64(q.m*q.k*q.elem.Size()) > on.nearRows // A, which several strips of columns would read again
	switch thin := q.m < thinRows; {
	case thin && workers <= 2:
		return size <= min(on.unpackedThin, 4*on.l2)
	case thin && q.held(workers, 0.5):
		return true
	case q.n <= u.Columns, q.m <= on.unpackedTall && !far:
		return size <= min(on.unpacked, 4*on.l2) && (q.m <= u.Rows || q.spread(u) <= on.unpackedNear)
	}
	return q.flops() <= on.unpackedSmall
}

// spread returns the bytes of a cache that a strip of B takes and, if K lies across the rows of
// an A that several strips read, one of A. Rows a power of two apart share few sets.
func (q *problem) spread(u *asm.Unpacked) int {
	bytes := u.Columns * 4
	most := max(q.pitchB&-q.pitchB, bytes)
	if q.transA && q.n > u.Columns {
		most = max(most, q.pitchA&-q.pitchA)
	}
	return q.k * most
}
