package plan

import "example.com/leafhopper/asm"

// A product whose operands the kernel reads where they lie needs no panels, and its tiles are as wide and as high as it
// wants. That is faster for few rows, for what does not divide into the tiles that panels have, and where a call
// notices every nanosecond. But B is read again for every tile of rows, and not line after line.

const (
	tinyWork = 1 << 16 // multiply-adds that are too few to think about
	thinRows = 4       // rows that are not fewer than a kernel for unpacked operands wants

	sharedRows = 16      // rows of an A across K, pages apart, that do not stay in caches
	panelLies  = 1 << 20 // bytes of a panel, at most, that are read as fast as a matrix as in one
)

// unpacked returns the kernel's way to multiply the operands where they lie, or nil.
func (q *Problem) unpacked() *asm.Unpacked {
	if q.ElemA != q.ElemB {
		return nil
	}
	return q.Kernel.Unpacked(q.Elem)
}

// Tiny reports whether the kernel multiplies them so, and they are so small that to look for a faster way takes longer,
// but K no deeper than dot products may be. Panels, unless they are few, and what lies along K are for a vector.
func (q *Problem) Tiny() bool {
	u := q.unpacked()
	// An int counts them wherever there is such a kernel.
	if u == nil || q.M*q.N*q.K > tinyWork || q.K >= dotBlocks*q.Elem.Block() {
		return false
	}
	return q.FormB == InRows || q.M == 1 && u.Vector[q.FormB] != nil ||
		q.FormB == InPanels && q.N <= max(q.Kernel.NR, u.Columns)
}

// readsFast reports whether it is faster to multiply operands where they lie than to pack them.
func (q *Problem) readsFast() bool {
	u, on, workers := q.unpacked(), q.On, q.AtOnce()
	if u == nil || q.exceeds(1) || q.strays(u) {
		return false
	}
	size := q.sizeB()
	// Rows that are few, too, by panels, each of which is rows, that a tile is wide enough for.
	panels := q.FormB == InPanels && 1 < q.M && 2*q.M <= u.Rows && q.Kernel.NR < q.N && q.N <= u.Columns
	switch {
	case q.FormB != InRows && !panels:
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

// Lies reports whether a B of so many rows and columns of t that is packed is read as the matrix that its only panel
// is, too: of rows as long as the panel is wide, but of no more columns than a tile.
func Lies(k *asm.Kernel, t asm.Type, rows, cols int) bool {
	u := k.Unpacked(t)
	return u != nil && cols <= min(k.NR, u.Columns) && rows*k.NR*t.Size() <= panelLies
}

// strays reports whether the tiles of a tall A are kept waiting where panels would not be: by an A in memory each of
// whose lines is a row of K, or by one whose lines are read in parts, and share the sets of caches; or by a B whose few
// columns are far apart, beside an A in memory.
func (q *Problem) strays(u *asm.Unpacked) bool {
	size := q.Elem.Size()
	far := float64(q.M)*float64(q.K*size) > float64(max(q.On.l3, pastBytes)/2)
	shared := q.PitchA%pageBytes == 0 && u.Rows*size < LineBytes && q.K >= sharedRows && q.N*size <= LineBytes/2
	return q.M > q.On.unpackedTall && q.K < TallK && (q.TransA && (far || shared) || far && q.PitchB > 3*q.N*size)
}
