package gemm

import "example.com/leafhopper/asm"

// What the second-level caches of several workers hold between them had better be computed in
// place, by columns that are always the same worker's, than streamed: then the slabs of B go from
// one worker to another down K.
const (
	keptLeast   = 4 // fewest workers that keep B,
	keptTiles   = 3 // and fewest tiles of each
	apartPanels = 2 // most panels for each of many workers with AMX of a B that is larger
	timesFew    = 4 // how many times the caches of three or four workers hold a B along K
	tiledFewest = 3 // fewest rows of A for tiles of AMX, by a B that a cache holds
)

// keepsB reports whether half of the second-level caches of several workers hold a B of float32,
// and each of them has tiles enough, so that a tile of rows of A and more are multiplied faster in
// place.
func (p *product) keepsB(workers int) bool {
	k := p.kernel
	return workers >= keptLeast && p.a.elem == asm.F32 && p.inVectors() && p.readsA() && k.MR <= p.m && p.m <= streamRows &&
		ceilDiv(p.m, k.MR)*ceilDiv(p.n, k.NR) >= keptTiles*workers && p.heldBy(workers, timesPlain) && !p.readsAlong(workers)
}

// fetchesApart reports the same for tiles of AMX, and fewer rows: their workers had better fetch
// their columns of B each for itself than sweep over it if the second-level caches hold it or, if
// they are many, nobody has more than two panels of it. A few have slabs so wide that only what
// is packed, or has to be transposed, gains.
func (p *product) fetchesApart(workers int) bool {
	if !p.starves() || workers < pair || p.wide(workers) || p.flops() > ownStarves*float64(workers) {
		return false
	}
	switch {
	case p.many(workers):
		return p.heldBy(workers, timesShort) || p.n <= apartPanels*workers*p.kernel.NR
	case p.b.packed:
		return p.heldBy(workers, timesShort)
	}
	return p.b.trans && workers > pair && p.heldBy(workers, timesFew)
}

// tileFewest returns the fewest rows of A that tiles of AMX multiply faster than vectors do.
// Where B lies in panels, or its columns along K, and a cache holds it, vectors take as long
// for three rows.
func (p *product) tileFewest(workers int) int {
	switch {
	case p.b.packed && p.heldBy(workers, timesShort) && !p.wide(workers), p.b.trans && workers == 1 && p.heldBy(1, 1):
		return tiledFewest
	}
	return sweepFewest
}

// heldBy reports whether the second-level caches of so many workers hold B so many times.
func (p *product) heldBy(workers, times int) bool {
	return p.n*p.k*p.b.elem.Size() <= workers*p.on.l2/times
}
