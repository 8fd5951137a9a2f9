package plan

import "example.com/leafhopper/tile"

// nearRows are the bytes of A, of a block of K, that are read again from near caches for every panel of B.
const nearRows = 512 << 10

// planSlabs returns how workers compute slabs of C, each with what it fetches and packs itself, or the caller all
// of it, and why that would be slow.
func (q *Problem) planSlabs() (g Plan, no refusal) {
	k, workers := q.Kernel, q.AtOnce()
	g = Plan{Share: BySlabs, A: PanelsOfA, Depth: min(q.K, q.StageK())}
	if q.readsA() && (q.M >= k.MR || k.Edge() != nil) {
		g.A = RowsOfA
	}
	switch g.B = q.slabSource(); g.B {
	case UnpackedB:
		g.A = RowsOfA
	case StreamedB:
		g.A = PanelsOfA
	}
	if no := q.refusesSlabs(&g, workers); no != fits {
		return g, no
	}
	var enough bool
	if workers == 1 && !q.Waits {
		if g.Sums, g.Room, enough = q.sums(&g, q.M, q.N); enough {
			g.Share, g.Workers, g.Slabs = ByCaller, 1, SlabCut{q.M, q.N, 1, 1, 1, q.Blocks()}
			g.Past = q.exceeds(1)
			return g, fits
		}
	}
	if workers == 1 && g.A == PanelsOfA && g.B != StreamedB && q.N > k.NR {
		return g, packsAgain
	}
	if g = q.fastest(g, workers); g.Slabs.Count == 0 {
		return g, noRoom
	}
	// A ring packs A faster than slabs do for which there is no tile to spare.
	if g.Sums, g.Room, enough = q.sums(&g, min(q.M, g.Slabs.Rows+k.MR-1), g.Slabs.Cols); !enough {
		return g, noRoom
	}
	g.Past = q.exceeds(g.Workers)
	return g, fits
}

// slabSource returns the fastest way to read B for slabs, or for all of C.
func (q *Problem) slabSource() SourceB {
	switch {
	case q.readsFast():
		return UnpackedB
	case q.few():
		return StreamedB
	case q.Ready():
		return StoredB
	}
	return PackedB
}

// few reports whether kernels for few rows multiply faster than tiles where B stays in a cache. Tiles have all
// of their rows, however few are wanted, but a panel of pairs is soon packed.
func (q *Problem) few() bool {
	workers, on, k := q.AtOnce(), q.On, q.Kernel
	cached := q.N*q.K < streamMin || workers > 2 && q.held(workers, on.Columns[several].part[q.FormB]) &&
		!q.spills(q.N/workers, q.K, 4*on.l2) // or hardly a quarter of it stays
	var packed bool
	switch q.FormB {
	case AlongK:
		packed = q.sizeB() <= on.fewLeast
	case InRows:
		packed = k.KPack == 2 && q.N <= k.NR && q.sizeB() >= on.fewPanel
	}
	return q.M <= on.fewRows[q.FormB] && cached && !packed && !q.TransC && q.streams() &&
		max(k.PanelA(q.Words(q.K)), q.M*q.N*4) <= fewBytes
}

// each returns the flops up to which each of several workers fetches what its slabs need, or 0.
func (q *Problem) each(g *Plan, workers int) float64 {
	if g.A == RowsOfA || g.B == StreamedB {
		return q.On.slabs[q.Crowd(workers)]
	}
	return q.On.slabsPack[q.Crowd(workers)]
}

// refusesSlabs says why workers had better not fetch what their slabs need, each for itself.
func (q *Problem) refusesSlabs(g *Plan, workers int) refusal {
	on, each := q.On, q.each(g, workers)
	switch {
	case each > 0 && q.flops() <= each*float64(workers),
		each > 0 && g.A == PanelsOfA && q.N <= on.slabsOnce[q.Crowd(workers)]*q.Kernel.NR: // they pack A once
		return fits
	case each > 0:
		return muchEach
	case q.counted(one) <= on.shared[one],
		g.A == RowsOfA && q.blockBytesA(g) <= on.nearA*float64(workers*on.l2) && q.held(workers, on.nearB) &&
			q.M*q.PitchC <= on.nearC:
		return fits
	case q.flops() > on.nearFlops:
		return muchWork
	case g.B.lies() || q.N <= q.Kernel.NR || q.blockBytesA(g) <= nearRows:
		return fits
	}
	return farA
}

// blockBytesA returns the bytes of A of a block of K.
func (q *Problem) blockBytesA(g *Plan) float64 { return float64(q.M) * float64(g.Depth*q.Elem.Size()) }

// sums returns where those of slabs of so many rows and columns wait, what slabs take of scratch memory, and whether it
// is enough. If it is not, sums wait in C, where that holds them as they are.
func (q *Problem) sums(g *Plan, rows, cols int) (at Keeper, room Room, enough bool) {
	switch at = InScratch; {
	case g.Depth == q.K:
		at = InRegisters
	case g.B.lies() && q.Direct() && (g.B == UnpackedB || cols >= q.N): // see Plan.Sums
		at = InC
	}
	if room, enough = q.Room(g, at, rows, cols); !enough {
		at = InC
		room, enough = q.Room(g, at, rows, cols)
	}
	return at, room, enough
}

// sumsInC reports whether C holds the sums of tiles and edges as they are.
func (q *Problem) sumsInC(g *Plan) bool {
	return g.A == RowsOfA && q.Kernel.Edge() != nil && q.Direct()
}

// Room returns what slabs of so many rows and columns, whose sums wait there, take of scratch memory, and whether it is
// enough.
func (q *Problem) Room(g *Plan, at Keeper, rows, cols int) (r Room, enough bool) {
	if g.B.lies() {
		return r, true
	}
	k := q.Kernel
	panels, words, strips := CeilDiv(rows, k.MR), q.Words(g.Depth), 1
	if g.B == PackedB {
		r.B = k.PanelB(words)
	}
	if g.Depth < q.K {
		strips = CeilDiv(cols, k.NR)
	}
	// In floating point, for of many rows an int of 32 bits does not count the bytes.
	sum := float64(r.B)
	if g.A == PanelsOfA {
		r.A = panels * k.PanelA(words)
		sum += float64(panels) * float64(k.PanelA(words))
	}
	if at == InScratch || !q.sumsInC(g) {
		r.Acc = panels * k.MR * k.NR * 4
		sum += float64(strips*panels) * float64(k.MR*k.NR*4)
	}
	return r, sum <= ScratchBytes-2*tile.SlotAlign
}
