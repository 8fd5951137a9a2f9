package plan

import (
	"math"

	"example.com/leafhopper/barrier"
)

const (
	maxParts  = 8       // slabs above each other, at most, if so many have room for their sums
	partFlops = 1 << 29 // flops of a slab of one panel, at most, for which a context waits
	ownPanels = 8       // panels of B of a slab that a worker fetches for itself, at most
)

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
	s.ranges, s.span, s.part = q.shareK(mostRanges)
	s.quarter = float64(TileFlops(k, q.Words(q.K))) / 4 * s.part
	if g.B.lies() { // for kernels that compute no more rows than there are, and pack nothing
		s.tile, s.fetchB = CeilDiv(4*min(q.M, k.MR), k.MR), q.On.panelB/3
	}
	own := q.each(&g, workers) > 0
	if own && (q.M > k.MR || !g.B.lies()) { // or each has its part of B in its cache, and had better take no other
		s.waited = 1 // one of several is always late
	}
	if own {
		s.tryOwn()
	} else {
		s.tryNear()
	}
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
	fewest := CeilDiv(s.panelsA, max(1, partFlops/TileFlops(s.Kernel, s.Words(s.K))))
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
	bytes := float64(min(cut.Rows, s.M)+min(cut.Cols, s.N)) * float64(s.K*s.Elem.Size()) * s.part // of A and B
	if cut.Count*s.ranges > barrier.MaxCount || bytes > SlabBytes {
		return
	}
	if flops := s.time(&cut, tiles, wide); flops < s.flops {
		if _, _, enough := s.sums(&s.best, cut.Rows+s.rest, cut.Cols); enough {
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
	return float64(time)*s.quarter + float64(each*s.On.slabFlops) + s.adds(cut, s.workers)
}
