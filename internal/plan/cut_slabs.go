package plan

import (
	"math"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

const (
	maxParts  = 8         // slabs above each other, at most, if so many have room for their sums
	partFlops = 1 << 29   // flops of a slab of one panel, at most, for which a context waits
	ownPanels = 8         // panels of B of a slab that a worker fetches for itself, at most
	nearRows  = 512 << 10 // bytes of A, of a block of K, that are read again from near caches for every panel of B
)

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
	if workers == 1 && !q.Waits && q.keepsSums(&g, q.M, q.N) {
		g.Share, g.Workers, g.Slabs = ByCaller, 1, SlabCut{q.M, q.N, 1, 1, 1, q.Blocks()}
		g.Past = q.exceeds(1)
		return g, fits
	}
	if workers == 1 && g.A == PanelsOfA && g.B != StreamedB && q.N > k.NR {
		return g, packsAgain
	}
	g.Slabs, g.Workers = q.best(&g, workers)
	if g.Slabs.Count == 0 || !q.keepsSums(&g, min(q.M, g.Slabs.Rows+k.MR-1), g.Slabs.Cols) {
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

// keepsSums says in g where sums wait, and reports whether there is room for slabs of so many rows and columns:
// in C if the scratch memory is not enough and C holds sums as they are.
func (q *Problem) keepsSums(g *Plan, rows, cols int) bool {
	switch g.Sums = InScratch; {
	case g.Depth == q.K:
		g.Sums = InRegisters
	case g.B.lies() && q.Direct() && (g.B == UnpackedB || cols >= q.N): // see Plan.Sums
		g.Sums = InC
	}
	var fits bool
	g.Room, fits = q.Room(g, rows, cols)
	if !fits {
		g.Sums = InC
		g.Room, fits = q.Room(g, rows, cols)
	}
	return fits
}

// sumsInC reports whether C holds the sums of tiles and edges as they are.
func (q *Problem) sumsInC(g *Plan) bool {
	return g.A == RowsOfA && q.Kernel.Edge() != nil && q.Direct()
}

// Room returns what slabs of so many rows and columns take, and whether there is so much.
func (q *Problem) Room(g *Plan, rows, cols int) (r Room, fits bool) {
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
	if g.Sums == InScratch || !q.sumsInC(g) {
		r.Acc = panels * k.MR * k.NR * 4
		sum += float64(strips*panels) * float64(k.MR*k.NR*4)
	}
	return r, sum <= ScratchBytes-2*tile.SlotAlign
}

// operandBytes returns the bytes of A and B that a slab of so many tiles reads.
func (q *Problem) operandBytes(tiles, wide int) float64 {
	return float64(min(tiles*q.Kernel.MR, q.M)+min(wide*q.Kernel.NR, q.N)) * float64(q.K*q.Elem.Size())
}

// best returns the fastest of the ways to cut the product, for most workers, or for fewer if the others would
// keep each other waiting for longer than they save.
func (q *Problem) best(g *Plan, most int) (best SlabCut, of int) {
	least := math.Inf(1)
	for workers := most; ; workers = max(workers/2, severalWorkers) {
		before := least
		for n := 1; n <= q.mostRanges(workers); n *= 2 {
			cut, flops := q.cut(g, workers, n)
			if n > 1 {
				flops *= 1 + sharedGain
			}
			wanted := min(workers, cut.Count*cut.Ranges)
			flops += float64(wanted * wanted * q.On.helpFlops)
			if flops < least {
				best, of, least = cut, wanted, flops
			}
		}
		if least == before || workers <= severalWorkers {
			return best, of
		}
	}
}

// cut cuts the product into slabs for workers, each of at most so many ranges of K, and returns the flops in the time
// that they take.
func (q *Problem) cut(g *Plan, workers, most int) (best SlabCut, least float64) {
	k := q.Kernel
	panelsA, panelsB, tall, rest := CeilDiv(q.M, k.MR), CeilDiv(q.N, k.NR), 0, 0
	if g.A == RowsOfA {
		if k.Edge() == nil { // the last slab has the rows after the last whole tile, too
			panelsA, rest = q.M/k.MR, q.M%k.MR
		}
		tall = q.On.l2 / 2 / q.PitchA / k.MR // tiles of A that stay in a second-level cache where they lie
	}
	ranges, span, part := q.shareK(most)
	// In quarters of the time of a tile of a range:
	quarter := float64(TileFlops(k, q.Words(q.K))) / 4 * part
	rows, panelB, waited := 4, q.On.panelB, 0
	own := q.each(g, workers) > 0
	if g.B.lies() { // for kernels that compute no more rows than there are, and pack nothing
		rows, panelB = CeilDiv(4*min(q.M, k.MR), k.MR), q.On.panelB/3
	}
	if own && (q.M > k.MR || !g.B.lies()) { // or each has its part of B in its cache, and had better take no other
		waited = 1 // one of several is always late, and all wait for its last slab
	}
	least = math.Inf(1)
	try := func(tiles, wide int) {
		down, across := CeilDiv(panelsA, tiles), CeilDiv(panelsB, wide)
		cut := SlabCut{
			Rows: tiles * k.MR, Cols: wide * k.NR, Across: across, Count: down * across, Ranges: ranges, Span: span,
		}
		if cut.Count*ranges > barrier.MaxCount || q.operandBytes(tiles, wide)*part > SlabBytes {
			return
		}
		each := CeilDiv(cut.Count*ranges, workers)
		fetched := each // times that a worker brings rows of A closer
		if tiles <= tall {
			fetched = CeilDiv(each, across) // for all slabs of its own side by side
		}
		panel := panelB
		if g.B.lies() && q.spills(each*wide*k.NR, q.K/ranges, q.On.l2/4*3) {
			panel *= 2
		}
		time := (each+waited)*(rows*tiles+panel)*wide + fetched*q.On.panelA*tiles
		flops := float64(time)*quarter + float64(each*q.On.slabFlops) + q.adds(&cut, workers)
		if flops < least && q.keepsSums(g, cut.Rows+rest, cut.Cols) {
			best, least = cut, flops
		}
	}
	if own {
		widest := ownPanels
		if g.B.lies() {
			widest = CallLimit(k) / TileFlops(k, q.Words(min(q.ChainK(), q.K))) // nothing of B is to stay
		}
		for tiles := max(tall, maxSlabRows/k.MR); tiles > 0; tiles-- {
			tiles = balance(panelsA, tiles)
			for wide := widest; wide > 0; wide-- {
				wide = balance(panelsB, wide)
				try(tiles, wide)
			}
		}
		return best, least
	}
	fewest := CeilDiv(panelsA, max(1, partFlops/TileFlops(k, q.Words(q.K))))
	for parts := min(fewest, maxParts); parts <= panelsA && (parts <= maxParts || best.Count == 0); parts++ {
		try(CeilDiv(panelsA, parts), max(1, panelsB/(slabsEach*workers)))
	}
	return best, least
}
