package plan

import "example.com/leafhopper/asm"

// dotted reports whether the product is best computed as dot products. Tiles that need no panels are soon faster.
func (q *Problem) dotted() bool {
	size, blocks := q.M*q.N, q.M*q.N // of K, at least: one for each element
	if size > DotMost || q.K < dotBlocks*q.Elem.Block() || q.ElemA != q.ElemB {
		return false // what most products notice of this
	}
	if q.readsFast() {
		if q.M+q.N > dotFew {
			return false
		}
		blocks *= 2
	}
	near := DotStep * q.Elem.Size() // bytes that vectors may have from one element to the next
	return dotTile*size <= q.Kernel.MR*q.Kernel.NR && q.K >= blocks*q.Elem.Block() &&
		q.FormB != InPanels && q.Kernel.Lanes(q.Elem) != nil &&
		(!q.TransA || q.PitchA <= near) && (q.FormB == AlongK || q.PitchB <= near)
}

// dotBytes returns the bytes of A and B.
func (q *Problem) dotBytes() float64 {
	return float64(q.M+q.N) * float64(q.K) * float64(q.Elem.Size())
}

// planDots returns how dot products are computed: K in ranges for workers, or for fewer.
func (q *Problem) planDots() Plan {
	workers := max(1, min(int(q.dotBytes()/dotShare), q.AtOnce()))
	g := Plan{Share: BySlabs, A: PanelsOfA, B: DotsOfB, Sums: InScratch, Workers: workers}
	if workers == 1 && (!q.Waits || q.Flops() <= dotBlind) {
		g.Share = ByCaller
	}
	most := max(1, min(int(2*q.dotBytes()/dotShare), slabsEach*workers)) // of half of what is worth a worker
	span := RoundUp(CeilDiv(q.Blocks(), most), asm.Lanes)
	g.Slabs = SlabCut{Rows: q.M, Cols: q.N, Across: 1, Count: 1, Ranges: CeilDiv(q.Blocks(), span), Span: span}
	return g
}
