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
	g = Plan{Share: BySlabs, A: PanelsOfA, B: q.slabSource(), Step: min(q.K, q.StageK())}
	if g.B == UnpackedB || g.B != StreamedB && q.readsA() && (q.M >= k.MR || k.Edge() != nil) {
		g.A = RowsOfA
	}
	if no = q.refusesSlabs(&g, workers); no != fits {
		return g, no
	}
	if workers == 1 && !q.Waits && q.placeSums(&g, q.M, q.N) {
		g.Share, g.Workers, g.Past = ByCaller, 1, q.exceeds(1)
		g.Slabs = SlabCut{Rows: q.M, Cols: q.N, Across: 1, Count: 1, Ranges: 1, Span: q.Blocks()}
		return g, fits
	}
	if workers == 1 && g.A == PanelsOfA && g.B != StreamedB && q.N > k.NR {
		return g, packsAgain
	}
	g = q.fastest(g, workers)
	// A ring packs A faster than slabs do for which there is no tile to spare.
	if enough := q.placeSums(&g, min(q.M, g.Slabs.Rows+k.MR-1), g.Slabs.Cols); !enough || g.Slabs.Count == 0 {
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
	cached := q.N*q.K < streamMin || workers > 2 && q.held(workers, on.columns[several].part[q.FormB]) &&
		!q.spills(q.N/workers, q.K, 4*on.l2) // or hardly a quarter of it stays
	var packed bool
	switch q.FormB {
	case AlongK:
		packed = q.sizeB() <= on.fewLeast
	case InRows:
		packed = k.KPack == 2 && q.N <= k.NR && q.sizeB() >= on.fewPanel
	}
	return q.M <= on.fewRows[q.FormB] && cached && !packed && !q.TransC && q.streams() &&
		max(k.PanelA(q.Words(q.K)), q.M*q.N*k.Word) <= ScratchBytes/2-tile.SlotAlign // a half for A, one for sums
}

// each returns the flops up to which each of several workers fetches what its slabs need, or 0.
func (q *Problem) each(g *Plan, workers int) float64 {
	if g.A == RowsOfA || g.B == StreamedB {
		return q.On.slabs[CrowdOf(workers)]
	}
	return q.On.slabsPack[CrowdOf(workers)]
}

// refusesSlabs says why workers had better not fetch what their slabs need, each for itself.
func (q *Problem) refusesSlabs(g *Plan, workers int) refusal {
	on, each := q.On, q.each(g, workers)
	switch {
	case each > 0 && q.Flops() <= each*float64(workers),
		each > 0 && g.A == PanelsOfA && q.N <= on.slabsOnce[CrowdOf(workers)]*q.Kernel.NR: // they pack A once
		return fits
	case each > 0:
		return muchEach
	case q.counted(one) <= on.shared[one],
		g.A == RowsOfA && q.blockBytesA(g) <= on.nearA*float64(workers*on.l2) && q.held(workers, on.nearB) &&
			q.M*q.PitchC <= on.nearC:
		return fits
	case q.Flops() > on.nearFlops:
		return muchWork
	case g.B.lies() || q.N <= q.Kernel.NR || q.blockBytesA(g) <= nearRows:
		return fits
	}
	return farA
}

// blockBytesA returns the bytes of A of a block of K.
func (q *Problem) blockBytesA(g *Plan) float64 { return float64(q.M) * float64(g.Step*q.Elem.Size()) }

// placeSums sets where sums of slabs of so many rows and columns wait, and reports whether scratch memory is enough for
// them. If it is not, they wait in C, where that holds them as they are.
func (q *Problem) placeSums(g *Plan, rows, cols int) (enough bool) {
	switch g.Sums = InScratch; {
	case g.Step == q.K:
		g.Sums = InRegisters
	case g.B.lies() && q.Direct() && (g.B == UnpackedB || cols >= q.N): // see Plan.Sums
		g.Sums = InC
	}
	if g.Room, enough = q.Room(g, rows, cols); !enough {
		g.Sums = InC
		g.Room, enough = q.Room(g, rows, cols)
	}
	return enough
}

// Room returns what slabs of so many rows and columns take of scratch memory, and whether it is enough.
func (q *Problem) Room(g *Plan, rows, cols int) (r Room, enough bool) {
	if g.B.lies() {
		return r, true
	}
	k := q.Kernel
	panels, words, strips := CeilDiv(rows, k.MR), q.Words(g.Step), 1
	if g.B == PackedB {
		r.B = k.PanelB(words)
	}
	if g.Step < q.K {
		strips = CeilDiv(cols, k.NR)
	}
	// In floating point, for of many rows an int of 32 bits does not count the bytes.
	sum := float64(r.B)
	if g.A == PanelsOfA {
		r.A = panels * k.PanelA(words)
		sum += float64(panels) * float64(k.PanelA(words))
	}
	if inC := g.A == RowsOfA && k.Edge() != nil && q.Direct(); !inC || g.Sums == InScratch {
		r.Acc = panels * k.MR * k.NR * k.Word
		sum += float64(strips*panels) * float64(k.MR*k.NR*k.Word)
	}
	return r, sum <= ScratchBytes-2*tile.SlotAlign
}

// fastest returns g with the fastest slabs for most workers, or for fewer if the others would keep each other waiting
// for longer than they save; or with none if there is no room for any.
func (q *Problem) fastest(g Plan, most int) (best Plan) {
	best, least := g, math.Inf(1)
	for workers := most; ; workers = max(workers/2, severalWorkers) {
		before := least
		for n := 1; n <= q.mostRanges(workers); n *= 2 {
			s := q.search(g, workers, n)
			if n > 1 {
				s.flops *= 1 + sharedGain
			}
			s.best.Workers = min(workers, s.best.Slabs.Count*s.best.Slabs.Ranges)
			s.flops += float64(s.best.Workers * s.best.Workers * q.On.helpFlops)
			if s.flops < least {
				best, least = s.best, s.flops
			}
		}
		if least == before || workers <= severalWorkers {
			return best
		}
	}
}

// A slabSearch tries slabs, and keeps the fastest.
type slabSearch struct {
	*Problem
	best             Plan    // with slabs, if there was room for any
	flops            float64 // in its time
	workers          int
	panelsA, panelsB int
	rest             int     // rows that the last slabs have after their last whole tile
	tall             int     // tiles of A in rows that stay in a second-level cache
	ranges, span     int     // of K
	part             float64 // of K, in a range
	quarter          float64 // flops in a quarter of the time of a tile of a range: times are so many
	tile, fetchB     int     // times of a tile, and to bring, and to pack, a panel of B
	waited           int     // slabs that all wait for at the end
}

// search looks for the fastest slabs for workers, each of at most so many ranges of K.
func (q *Problem) search(g Plan, workers, mostRanges int) slabSearch {
	k := q.Kernel
	s := slabSearch{
		Problem: q, best: g, workers: workers,
		panelsA: CeilDiv(q.M, k.MR), panelsB: CeilDiv(q.N, k.NR),
		tile: 4, fetchB: q.On.panelB, flops: math.Inf(1),
	}
	if g.A == RowsOfA {
		if k.Edge() == nil {
			s.panelsA, s.rest = q.M/k.MR, q.M%k.MR
		}
		s.tall = q.On.l2 / 2 / q.PitchA / k.MR
	}
	blocks := q.Blocks()
	s.span = CeilDiv(blocks, mostRanges)
	s.ranges, s.part = CeilDiv(blocks, s.span), min(1, float64(s.span*q.ChainK())/float64(q.K))
	s.quarter = float64(TileFlops(k, 1)) * float64(q.Words(q.K)) / 4 * s.part
	if g.B.lies() { // for kernels that compute no more rows than there are, and pack nothing
		s.tile, s.fetchB = CeilDiv(4*min(q.M, k.MR), k.MR), q.On.panelB/3
	}
	if q.each(&g, workers) == 0 {
		s.tryNear()
		return s
	}
	if q.M > k.MR || !g.B.lies() { // or each has its part of B in its cache, and had better take no other
		s.waited = 1 // one of several is always late
	}
	s.tryOwn()
	return s
}

// tryOwn tries all slabs of a few panels of B, up to the height of which a worker finds its rows of A again.
func (s *slabSearch) tryOwn() {
	k, widest := s.Kernel, ownPanels
	if s.best.B.lies() {
		widest = CallLimit(k) / TileFlops(k, s.Words(min(s.ChainK(), s.K))) // nothing of B is to stay
	}
	for tiles := max(s.tall, maxSlabRows/k.MR); tiles > 0; tiles-- {
		tiles = balance(s.panelsA, tiles)
		for wide := widest; wide > 0; wide-- {
			wide = balance(s.panelsB, wide)
			s.try(tiles, wide)
		}
	}
}

// tryNear tries slabs for workers to whom A comes soon enough: as high as their sums have room for, and so narrow that
// each worker has several.
func (s *slabSearch) tryNear() {
	fewest := CeilDiv(s.panelsA, max(1, partFlops/TileFlops(s.Kernel, 1)/s.Words(s.K)))
	wide := max(1, s.panelsB/(slabsEach*s.workers))
	for parts := min(fewest, maxParts); parts <= s.panelsA && (parts <= maxParts || s.best.Slabs.Count == 0); parts++ {
		s.try(CeilDiv(s.panelsA, parts), wide)
	}
}

// try keeps slabs of so many tiles, so many panels of B wide, if there is room for them and none was faster.
func (s *slabSearch) try(tiles, wide int) {
	k, down, across := s.Kernel, CeilDiv(s.panelsA, tiles), CeilDiv(s.panelsB, wide)
	cut := SlabCut{
		Rows: tiles * k.MR, Cols: wide * k.NR, Across: across, Count: down * across, Ranges: s.ranges, Span: s.span,
	}
	bytes := float64(cut.Rows+cut.Cols) * float64(s.K*s.Elem.Size()) * s.part // of whole tiles
	if cut.Count*s.ranges > barrier.MaxCount || bytes > slabBytes {
		return
	}
	if flops := s.time(&cut, tiles, wide); flops < s.flops {
		if s.placeSums(&s.best, cut.Rows+s.rest, cut.Cols) {
			s.best.Slabs, s.flops = cut, flops
		}
	}
}

// time returns the flops in the time that the busiest worker takes for slabs of so many tiles, so many panels wide.
func (s *slabSearch) time(cut *SlabCut, tiles, wide int) float64 {
	each := CeilDiv(cut.Count*cut.Ranges, s.workers)
	fetched := each // times that a worker brings rows of A closer
	if tiles <= s.tall {
		fetched = CeilDiv(each, cut.Across) // for all slabs of its own side by side
	}
	panel := s.fetchB
	if s.best.B.lies() && s.spills(each*cut.Cols, s.K/cut.Ranges, s.On.l2/4*3) {
		panel *= 2
	}
	time := (each+s.waited)*(s.tile*tiles+panel)*wide + fetched*s.On.panelA*tiles
	return float64(time)*s.quarter + float64(each)*float64(s.On.slabFlops) + s.adds(cut, s.workers)
}
