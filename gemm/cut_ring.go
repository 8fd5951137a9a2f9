package gemm

import (
	"cmp"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// The shape of a stage. A strip of A, slabRows x bk, must stay in an L2
// cache while a panel of B, NR x bk, stays in L1 and the panels of B pass by;
// and a stage must be worth many times what handing it over costs. Both
// operands are packed once for every tile, which costs 1/rows + 1/columns of the
// flops in bytes, so tiles are as large as leaves a ring of them, with the
// accumulators, in a few megabytes of L3.
const (
	leastTall = 256  // rows of a tile whose B is packed for all of them, at least, if A exceeds an L2 cache anyway
	mostTall  = 1024 // at most
	tallCols  = 2048 // columns of such a tile, at most
	ctaRows   = 512  // rows of a CTA, at most
	// Rows of a slab, at most, unless tiles of the kernel are high or more rows stay in a cache: beside them a
	// second-level cache keeps as many panels of B as are packed at once.
	maxSlabRows = 128
	minSlabCols = 128       // columns below which no slab is halved, unless workers would be idle
	minJob      = 32 << 10  // bytes of a copy job that is long enough to stream
	maxJob      = 256 << 10 // bytes of a copy job that is short enough to share
	// maxStage keeps a stage's transaction count within what a barrier counts.
	maxStage = (1<<20 - 1) * tile.PanelTxUnit
)

// planRing returns how the product is computed on a ring. No stage has parts of two blocks of K, whose sums pass from
// stage to stage unrounded. The ring holds A alone, besides a B that is packed, where few workers pack B each panel
// when they come to multiply it by all the tile's rows, which takes less time than to copy it to the ring and to read
// it from there; but of few columns each would have none. And where each of many packs what its slabs need: to write
// a slot that many have read takes the caches ten times as long as to write one's own memory.
func (q *problem) planRing() Plan {
	g := Plan{share: byRing, a: slotsOfA, b: slotsOfB, sums: inEngine, workers: q.workers, group: q.on.group}
	c := q.crowd(q.workers)
	free := !q.asked.any && q.on.packs[c] && (c == one || ceilDiv(q.n, q.kernel.NR) >= 2*q.workers)
	switch {
	case q.ready():
		g.b = storedB
	case free, q.narrow():
		g.b = packedB
	}
	q.cutRing(&g.ring, c, g.b != slotsOfB, free && c != wide || q.narrow())
	g.depth = g.ring.bk
	if g.ring.slabRows > maxSlabRows {
		g.group = max(1, g.group/2) // that a second-level cache keeps them beside A
	}
	g.past = q.exceeds(1) // for who stores a part comes late, if ever, to the next
	return g
}

// cutRing cuts the product for a ring that holds no B if bare; tall is for slabs of all rows of a tile.
func (q *problem) cutRing(g *ringCut, c crowd, bare, tall bool) {
	k, on := q.kernel, q.on
	g.extentK, g.workers, g.depth = q.k, q.workers, cmp.Or(q.asked.depth, on.depth[c])
	g.cutC(q, on.extent[c], tall)
	g.cutK(q)
	g.tilesM = ceilDiv(q.m, g.bm*g.ctas)
	g.slabRows, g.slabCols = g.bm, g.bn
	if !tall {
		g.slabRows = roundUp(balance(g.bm, max(maxSlabRows, on.slabTiles[c]*k.MR)), k.MR)
	}
	g.cutSlabs(k)
	g.layOut(k, bare)
}

// cutC chooses the rows and columns of a tile. A tile whose B is packed for all of its rows has so many that its
// panels of A stay in half of a second-level cache.
func (g *ringCut) cutC(q *problem, most int, tall bool) {
	cta, across := ctaRows, most
	if tall {
		most, across = max(leastTall, min(q.on.l2/2/(4*stageWords), mostTall)), tallCols
		cta = most
	}
	rows, cols := balance(q.m, most), min(cmp.Or(q.asked.n, balance(q.n, across)), q.n)
	g.ctas = ceilDiv(rows, cta)
	if q.asked.m != 0 {
		rows, g.ctas = min(q.asked.m, q.m), 1
	}
	g.bm = roundUp(ceilDiv(rows, g.ctas), q.kernel.MR)
	g.bn = roundUp(cols, q.kernel.NR)
	g.tilesN = ceilDiv(q.n, g.bn)
}

// cutK cuts K into blocks, and those into stages, whose depth may leave room for
// fewer rows of a tile.
func (g *ringCut) cutK(q *problem) {
	k := q.kernel
	words, step := q.words(q.k), k.KStep(q.elem)
	g.blockK = q.chainK()
	deep := stageDepth(k, step)
	depth := min(deep, words)
	switch {
	case k.Arithmetic == asm.Native:
	case 0 < q.part && q.part <= stageWords:
		depth = q.words(q.part) // a chain that ends with its stage needs no memory of its own
	default:
		depth = roundUp(balance(q.words(g.blockK), deep), step)
	}
	if q.asked.k != 0 {
		depth = min(q.words(q.asked.k), words, q.words(g.blockK))
	}
	for depth > step && (g.load(k, depth) > maxStage || tileFlops(k, depth) > callLimit(k)) {
		depth = roundUp(depth/2, step)
	}
	if q.formB == inPanels {
		// This depth is given, so it is the rows that must fit a barrier.
		depth = min(q.words(q.stageK()), words)
		g.bm = min(g.bm, maxStage/k.PanelA(depth)*k.MR)
	}
	g.bk = depth * k.KPack
	g.blockSteps = ceilDiv(g.blockK, g.bk)
	before := (q.k - 1) / g.blockK
	g.steps = before*g.blockSteps + ceilDiv(q.k-before*g.blockK, g.bk)
}

// cutSlabs cuts slabs until workers have enough of them.
func (g *ringCut) cutSlabs(k *asm.Kernel) {
	g.rowSlabs, g.colSlabs = ceilDiv(g.bm, g.slabRows), 1
	halve := func(slabs, cols int) { // until there are so many, or they are so narrow
		for g.slabs() < slabs && g.slabCols > cols {
			g.slabCols = roundUp(g.slabCols/2, k.NR)
			g.colSlabs = ceilDiv(g.bn, g.slabCols)
		}
	}
	halve(slabsEach*g.workers, minSlabCols)
	halve(g.workers, k.NR)
	for g.slabRows > k.MR && g.slabs() < g.workers {
		g.slabRows = roundUp(g.slabRows/2, k.MR)
		g.rowSlabs = ceilDiv(g.bm, g.slabRows)
	}
}

// slabs returns how many slabs a stage has, for workers to share.
func (g *ringCut) slabs() int { return g.ctas * g.rowSlabs * g.colSlabs }

// layOut says how much memory the parts of the ring take, and cuts its copies into jobs.
func (g *ringCut) layOut(k *asm.Kernel, bare bool) {
	panelA, panelB := k.PanelA(g.bk/k.KPack), k.PanelB(g.bk/k.KPack)
	g.bytesA = roundUp(g.bm/k.MR*panelA, tile.SlotAlign)
	if !bare {
		g.bytesB = roundUp(g.bn/k.NR*panelB, tile.SlotAlign)
	}
	job := min(max(g.stage()/(2*g.workers), minJob), maxJob)
	g.jobRows = min(max(1, job/panelA)*k.MR, g.bm)
	g.jobCols = min(max(1, job/panelB)*k.NR, g.bn)
	g.bytesAcc = g.ctas * g.rowSlabs * g.slabRows * g.bn * 4
	if g.steps > g.blockSteps && g.blockSteps > 1 {
		g.bytesChain = g.bytesAcc
	}
}

// load returns the bytes of A and B that a CTA's full barrier counts in a stage
// depth words deep.
func (g *ringCut) load(k *asm.Kernel, depth int) int64 {
	return int64(g.bm/k.MR)*int64(k.PanelA(depth)) + int64(g.bn/k.NR)*int64(k.PanelB(depth))
}

// items returns the stages of all tiles.
func (g *ringCut) items() int { return g.tilesM * g.tilesN * g.steps }

func (g *ringCut) Shape() pipeline.Shape {
	s := pipeline.Shape{
		Depth:   g.depth,
		Items:   g.items(),
		CTAs:    g.ctas,
		Slabs:   g.rowSlabs * g.colSlabs,
		Private: ceilDiv(g.bm, g.jobRows),
		Shared:  ceilDiv(g.bn, g.jobCols),
	}
	if g.bytesB == 0 {
		s.Shared = 0
	}
	return s
}

// bytes returns the slot memory that the plan needs: the ring's stages, then
// the accumulators and the chains.
func (g *ringCut) Bytes() int64 {
	return int64(g.depth)*int64(g.stage()) + int64(g.bytesAcc) + int64(g.bytesChain)
}

func (g *ringCut) stage() int { return g.ctas*g.bytesA + g.bytesB }

// tile returns the origin in C of the cluster tile of item and its K step.
// Tiles that follow each other share their columns of B, and every second
// column of tiles is walked backwards so that they also share rows of A where
// the columns change.
func (g *ringCut) tile(item int) (row, col, step int) {
	t, step := item/g.steps, item%g.steps
	j, i := t/g.tilesM, t%g.tilesM
	if j&1 == 1 {
		i = g.tilesM - 1 - i
	}
	return i * g.bm * g.ctas, j * g.bn, step
}

// depthOf returns the first element of K of a step and how many it has. No step
// crosses from one block to the next.
func (g *ringCut) depthOf(step int) (first, n int) {
	block := step / g.blockSteps
	first = block*g.blockK + step%g.blockSteps*g.bk
	end := min((block+1)*g.blockK, g.extentK)
	return first, min(g.bk, end-first)
}
