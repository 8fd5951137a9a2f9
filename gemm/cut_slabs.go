package gemm

import (
	"math"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

const (
	nearCols  = 256      // columns up to which slabs are near if K has several blocks, whose sums wait
	slabBytes = 64 << 20 // bytes of A and B of a slab, for which a context waits
	maxParts  = 8        // slabs above each other, at most, if so many have room for their sums
	partFlops = 1 << 29  // flops of a slab of one panel, at most, for which a context waits
	ownPanels = 8        // panels of B of a slab that a worker fetches for itself, at most
)

// planSlabs returns how workers compute slabs of C, each with what it fetches and packs itself, or the caller all
// of it, and whether that is fast.
func (q *problem) planSlabs() (g Plan, near bool) {
	k, workers := q.kernel, q.atOnce()
	g = Plan{share: bySlabs, a: panelsOfA, depth: min(q.k, q.stageK()), group: 1}
	if q.readsA() && (q.m >= k.MR || k.Edge() != nil) {
		g.a = rowsOfA
	}
	switch g.b = q.slabSource(); {
	case g.b == unpackedB:
		g.a = rowsOfA
	case g.b == streamedB:
		g.a = panelsOfA
	case g.b == packedB && q.formB != alongK && q.n*q.k >= q.on.groupB:
		g.group = min(q.on.group, ceilDiv(q.n, k.NR))
	}
	if q.operandBytes(1, 1) > slabBytes || !q.near(&g, workers) {
		return g, false
	}
	if workers == 1 && !q.waits && q.keepsSums(&g, q.m, q.n) {
		g.share, g.workers, g.slabs = byCaller, 1, slabCut{q.m, q.n, 1, 1, 1, q.blocks()}
		g.past = q.exceeds(1)
		return g, true
	}
	if workers == 1 && g.a == panelsOfA && g.b != streamedB && q.n > k.NR {
		return g, false // each slab would pack A again
	}
	g.slabs, g.workers = q.best(&g, workers)
	g.group, g.past = min(g.group, ceilDiv(g.slabs.cols, k.NR)), q.exceeds(g.workers)
	return g, q.keepsSums(&g, min(q.m, g.slabs.rows+k.MR-1), g.slabs.cols)
}

// slabSource returns the fastest way to read B for slabs, or for all of C.
func (q *problem) slabSource() sourceB {
	switch {
	case q.readsFast():
		return unpackedB
	case q.few():
		return streamedB
	case q.ready():
		return storedB
	}
	return packedB
}

// few reports whether kernels for few rows multiply faster than tiles where B stays in a cache. Tiles have all
// of their rows, however few are wanted.
func (q *problem) few() bool {
	workers, on, k := q.atOnce(), q.on, q.kernel
	cached := q.n*q.k < streamMin || workers > 2 && q.held(workers, on.columns[few].part[q.formB])
	return q.m <= on.fewRows[q.formB] && cached && q.sizeB() > on.fewTurned[q.formB] && !q.transC && q.streams() &&
		max(k.PanelA(q.words(q.k)), q.m*q.n*4) <= fewBytes
}

// each returns the flops up to which each of several workers fetches what its slabs need, or 0.
func (q *problem) each(g *Plan, workers int) float64 {
	if g.a == rowsOfA || g.b == streamedB {
		return q.on.slabs[q.crowd(workers)]
	}
	return q.on.slabsPack[q.crowd(workers)]
}

// near reports whether workers may fetch what their slabs need, each for itself.
func (q *problem) near(g *Plan, workers int) bool {
	on, sizeA, l2 := q.on, float64(q.m)*float64(g.depth*q.elem.Size()), float64(workers*q.on.l2)
	each := q.each(g, workers)
	switch {
	case each > 0:
		// Slabs of all columns pack A once.
		return q.flops() <= each*float64(workers) || g.a == panelsOfA && q.n <= on.slabsOnce[q.crowd(workers)]*q.kernel.NR
	case workers == 1 && q.counted(one) <= on.shared[one]:
		return true
	case g.a == rowsOfA && sizeA <= on.nearA*l2 && q.held(workers, on.nearB) && q.m*q.pitchC <= on.nearC:
		return true
	}
	return q.flops() <= on.nearFlops && (g.b.lies() || sizeA <= on.nearRows && (g.depth == q.k || q.n <= nearCols))
}

// keepsSums says in g where sums wait, and reports whether there is room for slabs of so many rows and columns:
// in C if the scratch memory is not enough and C holds sums as they are.
func (q *problem) keepsSums(g *Plan, rows, cols int) bool {
	if g.sums = inScratch; g.depth == q.k || g.b.lies() {
		g.sums = inRegisters
	}
	_, fits := q.room(g, rows, cols)
	if !fits && q.sumsInC(g) {
		g.sums = inC
		_, fits = q.room(g, rows, cols)
	}
	return fits
}

// sumsInC reports whether C holds the sums of tiles and edges as they are.
func (q *problem) sumsInC(g *Plan) bool {
	return g.a == rowsOfA && q.kernel.Edge() != nil && q.direct()
}

// room is what a slab takes of scratch memory, in bytes: panels of A, of B, and the accumulators of a strip.
type room struct{ a, b, acc int }

// room returns what slabs of so many rows and columns take, and whether there is so much.
func (q *problem) room(g *Plan, rows, cols int) (r room, fits bool) {
	if g.b.lies() {
		return r, true
	}
	k := q.kernel
	panels, words, strips := ceilDiv(rows, k.MR), q.words(g.depth), 1
	if g.b == packedB {
		r.b = min(g.group, ceilDiv(cols, k.NR)) * k.PanelB(words)
	}
	if g.depth < q.k {
		strips = ceilDiv(cols, k.NR)
	}
	// In floating point, for of many rows an int of 32 bits does not count the bytes.
	sum := float64(r.b)
	if g.a == panelsOfA {
		r.a = panels * k.PanelA(words)
		sum += float64(panels) * float64(k.PanelA(words))
	}
	if g.sums == inScratch || !q.sumsInC(g) {
		r.acc = panels * k.MR * k.NR * 4
		sum += float64(strips*panels) * float64(k.MR*k.NR*4)
	}
	return r, sum <= scratchBytes-2*tile.SlotAlign
}

// operandBytes returns the bytes of A and B that a slab of so many tiles reads.
func (q *problem) operandBytes(tiles, wide int) int64 {
	return int64(tiles*q.kernel.MR+wide*q.kernel.NR) * int64(q.k) * int64(q.elem.Size())
}

// best returns the fastest of the ways to cut the product, for most workers, or for fewer if the others would
// take longer to come than they save.
func (q *problem) best(g *Plan, most int) (best slabCut, of int) {
	quarter := float64(tileFlops(q.kernel, q.words(q.k))) / 4
	own := q.each(g, most) > 0
	late := 0
	if own && g.b != streamedB {
		late = 1 // one of several is always late, and all wait for its last slab; but each packs few rows again
	}
	least := math.Inf(1)
	for workers := most; ; workers = max(workers/2, fewWorkers) {
		before := least
		for n := 1; n <= q.mostRanges(workers); n *= 2 {
			ranges, span, part := q.shareK(n)
			cut, time := q.cut(g, workers, late, ranges, own)
			cut.ranges, cut.span = ranges, span
			flops := float64(time)*quarter*part + float64(workers*q.on.helpFlops)
			if n > 1 {
				flops = (flops + q.adds(&cut, workers)) * (1 + sharedGain)
			}
			if flops < least {
				best, of, least = cut, workers, flops
			}
		}
		if least == before || workers <= fewWorkers {
			return best, of
		}
	}
}

// cut cuts the product into slabs for workers, each of so many ranges of K, and returns how long they take, in
// quarters of the time of a tile of a range, if one of them has so many slabs more than its share.
func (q *problem) cut(g *Plan, workers, late, ranges int, own bool) (best slabCut, least int) {
	k := q.kernel
	panelsA, panelsB, tall, rest := ceilDiv(q.m, k.MR), ceilDiv(q.n, k.NR), 0, 0
	if g.a == rowsOfA {
		if k.Edge() == nil { // the last slab has the rows after the last whole tile, too
			panelsA, rest = q.m/k.MR, q.m%k.MR
		}
		tall = q.on.l2 / 2 / q.pitchA / k.MR // tiles of A that stay in a second-level cache where they lie
	}
	least = math.MaxInt
	try := func(tiles, wide int) {
		down, across := ceilDiv(panelsA, tiles), ceilDiv(panelsB, wide)
		slabs := down * across
		if slabs*ranges > barrier.MaxCount || own && q.operandBytes(tiles, wide) > slabBytes {
			return
		}
		each := ceilDiv(slabs*ranges, workers)
		fetched := each // times that a worker brings rows of A closer
		if tiles <= tall {
			fetched = ceilDiv(each, across) // for all slabs of its own side by side
		}
		panelB := q.on.panelB
		if q.spills(g, min(each, across)*wide*k.NR, each*wide*k.NR, ranges) {
			panelB *= 2
		}
		time := (each+late)*(4*tiles+panelB)*wide + fetched*q.on.panelA*tiles
		if time < least && q.keepsSums(g, tiles*k.MR+rest, wide*k.NR) {
			least = time
			best = slabCut{rows: tiles * k.MR, cols: wide * k.NR, across: across, count: slabs}
		}
	}
	if own {
		for tiles := min(panelsA, max(tall, maxSlabRows/k.MR)); tiles > 0; tiles-- {
			tiles = balance(panelsA, tiles)
			for wide := min(panelsB, ownPanels); wide > 0; wide-- {
				wide = balance(panelsB, wide)
				try(tiles, wide)
			}
		}
		return best, least
	}
	fewest := ceilDiv(panelsA, max(1, partFlops/tileFlops(k, q.words(q.k))))
	for parts := min(fewest, maxParts); parts <= panelsA && (parts <= maxParts || best.count == 0); parts++ {
		try(ceilDiv(panelsA, parts), max(1, panelsB/(slabsEach*workers)))
	}
	return best, least
}
