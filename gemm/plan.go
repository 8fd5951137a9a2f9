package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// plan cuts a product into the tiles, stages, slabs and copy jobs of a grid.
//
//	C, M x N            a cluster tile: ctas x bm rows, bn columns
//	+-----+-----+       +------------------+  CTA 0   cut into slabs of
//	|tile |     |       |  slab  |  slab   |          slabRows x slabCols,
//	+-----+-----+       +------------------+          each computed by one
//	|     |     |       |  slab  |  slab   |          worker at a time
//	+-----+-----+       +==================+
//	                    |  ...             |  CTA 1
//
// A stage holds, bk elements of K deep, every CTA's panels of A and the panels
// of B that all CTAs of the cluster share.
type plan struct {
	extentK        int // K of the product
	tilesM, tilesN int
	ctas           int
	bm, bn, bk     int // CTA rows, columns, elements of K in a stage
	steps          int // stages of a tile
	blockK         int // elements of K in a block
	blockSteps     int // stages of a block
	rowSlabs       int // slabs of a CTA: rowSlabs x colSlabs
	colSlabs       int
	slabRows       int
	slabCols       int
	jobRows        int // rows of A in one copy job
	jobCols        int // columns of B in one copy job
	depth          int
	workers        int
	bare           bool // the ring holds no B: it is packed, or the workers pack it as they multiply
	late           bool // few workers pack B so, for all rows of a tile at a time
	bytesA, bytesB int  // of a stage: one CTA's A, the cluster's B
	bytesAcc       int  // accumulators of a cluster tile
	bytesChain     int  // those of an unfinished block, laid out like them, if blocks have several stages
}

// The shape of a stage. A strip of A, slabRows x bk, must stay in an L2
// cache while a panel of B, NR x bk, stays in L1 and the panels of B pass by;
// and a stage must be worth many times what handing it over costs. Both
// operands are packed once for every tile, which costs 1/rows + 1/columns of the
// flops in bytes, so tiles are as large as leaves a ring of them, with the
// accumulators, in a few megabytes of L3.
const (
	stageWords  = 256       // words of K in a panel, if that leaves a panel of B in panelBytes
	panelBytes  = 32 << 10  // most bytes of a panel of B
	tileExtent  = 1024      // most rows and columns of a cluster tile
	manyExtent  = 2048      // the same for more than few workers, in a large cache
	largeCache  = 48 << 20  // least bytes of an L3 that is large
	fewWorkers  = 4         // most workers that are few: they share a ring of A, and small tiles and stages are enough for them
	pair        = 2         // the same unless the kernel starves, see many
	widePanels  = 8         // panels of B for each of many workers from which it is wide
	leastLate   = 256       // least rows of a tile whose B is packed late, if A is larger than an L2 cache anyway
	mostLate    = 1024      // most rows of such a tile
	lateCols    = 2048      // most columns of such a tile
	ctaRows     = 512       // most rows of a CTA
	maxSlabRows = 128       // most rows of a slab, unless slabTiles are more
	slabTiles   = 16        // tiles of the kernel that a slab may have in any case
	eachTiles   = 32        // the same where many workers pack B, each for its slab
	minSlabCols = 128       // columns below which no slab is halved, unless workers would be idle
	slabsEach   = 4         // slabs of a stage for each worker, where the tile has them
	minJob      = 32 << 10  // bytes of a copy job that is long enough to stream
	maxJob      = 256 << 10 // bytes of a copy job that is short enough to share
	pastBytes   = 32 << 20  // least bytes of C to be stored past caches of unknown or smaller size
	loneDepth   = 1         // depth of the ring of one worker, which has nothing to overlap
	fewDepth    = 2         // the same of a few, as a smaller ring stays in the cache
	manyDepth   = 3         // the same of more
	// splitUnit is what the parts of a split K are multiples of: the depth of a
	// stage of cuBLAS's kernels, and of the steps of every kernel here.
	splitUnit = 64
	// promotionUnit is the same for parts of elements: no step of a kernel crosses it.
	promotionUnit = 32
	// maxStage keeps a stage's transaction count within what a barrier counts.
	maxStage = (1<<20 - 1) * tile.PanelTxUnit
)

// newPlan returns the plan for p under s. No choice here changes a bit of the
// result: no stage has parts of two blocks of K, whose sums pass from stage to stage
// unrounded.
func newPlan(p *product, s *settings) plan {
	g := plan{extentK: p.k, workers: s.workerCount(), depth: s.depth}
	if g.depth == 0 {
		switch {
		case g.workers == 1:
			g.depth = loneDepth
		case g.workers <= fewWorkers:
			g.depth = fewDepth
		default:
			g.depth = manyDepth
		}
	}
	each := p.packsEach(s)
	g.late = p.packsLate(s) || p.narrow()
	g.bare = p.b.packed || g.late || each
	g.cutC(p, s)
	g.cutK(p, s)
	g.tilesM = ceilDiv(p.m, g.bm*g.ctas)
	tiles := slabTiles
	if each {
		tiles = eachTiles
	}
	g.cutSlabs(p.kernel, tiles)
	g.layOut(p.kernel)
	return g
}

// cutC chooses the rows and columns of a tile.
func (g *plan) cutC(p *product, s *settings) {
	most, cta := p.clusterExtent(g.workers), ctaRows // rows
	across := most
	if g.late {
		most, across = p.lateRows(), lateCols
		cta = most
	}
	rows := balance(p.m, most)
	g.ctas = ceilDiv(rows, cta)
	if s.tile[0] != 0 {
		rows, g.ctas = min(s.tile[0], p.m), 1
	}
	g.bm = roundUp(ceilDiv(rows, g.ctas), p.kernel.MR)

	cols := balance(p.n, across)
	if s.tile[1] != 0 {
		cols = min(s.tile[1], p.n)
	}
	g.bn = roundUp(cols, p.kernel.NR)
	g.tilesN = ceilDiv(p.n, g.bn)
}

// cutK cuts K into blocks, and those into stages, whose depth may leave room for
// fewer rows of a tile.
func (g *plan) cutK(p *product, s *settings) {
	k := p.kernel
	words, step := p.words(p.k), k.KStep(p.a.elem)
	g.blockK = p.chainK()
	deep := stageDepth(k, step)
	depth := min(deep, words)
	switch {
	case k.Arithmetic == Native:
	case 0 < p.part && p.part <= stageWords:
		depth = p.words(p.part) // a chain that ends with its stage needs no memory of its own
	default:
		depth = roundUp(balance(p.words(g.blockK), deep), step)
	}
	if s.tile[2] != 0 {
		depth = min(p.words(s.tile[2]), words, p.words(g.blockK))
	}
	for depth > step && (g.load(k, depth) > maxStage || tileFlops(k, depth) > callLimit(k)) {
		depth = roundUp(depth/2, step)
	}
	if p.b.packed {
		// This depth is given, so it is the rows that must fit a barrier.
		depth = min(p.words(p.packed.bk), words)
		g.bm = min(g.bm, maxStage/k.PanelA(depth)*k.MR)
	}
	g.bk = depth * k.KPack
	g.blockSteps = ceilDiv(g.blockK, g.bk)
	before := (p.k - 1) / g.blockK
	g.steps = before*g.blockSteps + ceilDiv(p.k-before*g.blockK, g.bk)
}

// cutSlabs cuts a CTA's part of a tile into slabs, which may be so many register tiles
// high in any case. A B that is packed late is packed for all rows of a tile.
func (g *plan) cutSlabs(k *asm.Kernel, tiles int) {
	g.slabRows, g.slabCols = g.bm, g.bn
	if !g.late {
		g.slabRows = roundUp(balance(g.bm, max(maxSlabRows, tiles*k.MR)), k.MR)
	}
	g.rowSlabs, g.colSlabs = ceilDiv(g.bm, g.slabRows), 1
	for g.slabCols > k.NR && (g.slabs() < g.workers || g.slabs() < slabsEach*g.workers && g.slabCols > minSlabCols) {
		g.slabCols = roundUp(g.slabCols/2, k.NR)
		g.colSlabs = ceilDiv(g.bn, g.slabCols)
	}
	for g.slabRows > k.MR && g.slabs() < g.workers {
		g.slabRows = roundUp(g.slabRows/2, k.MR)
		g.rowSlabs = ceilDiv(g.bm, g.slabRows)
	}
}

// slabs returns how many slabs a stage has, for workers to share.
func (g *plan) slabs() int { return g.ctas * g.rowSlabs * g.colSlabs }

// layOut says how much memory the parts of the ring take, and cuts its copies into jobs.
func (g *plan) layOut(k *asm.Kernel) {
	panelA, panelB := k.PanelA(g.bk/k.KPack), k.PanelB(g.bk/k.KPack)
	g.bytesA = roundUp(g.bm/k.MR*panelA, tile.SlotAlign)
	if !g.bare {
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

// packsLate reports whether the ring holds A alone and the workers pack B, unless
// it is packed, each panel when they come to multiply it by all the tile's rows.
// That costs less than to copy B to the ring and to read it from there, if there are
// few workers. A caller who names the shape of the ring gets B in it, and so do few
// columns: a slab has all rows of a tile.
func (p *product) packsLate(s *settings) bool {
	workers := s.workerCount()
	return s.unnamed() && workers <= fewWorkers && (workers == 1 || ceilDiv(p.n, p.kernel.NR) >= 2*workers) && (p.kernel.Ahead() || p.starves())
}

// packsEach reports whether the ring holds A alone and each of many workers packs
// what its slabs need of B, as [product.packsLate] has it for few. To write a slot
// that many have read takes the caches ten times as long and more as to write one's
// own memory. A is read by fewer, if C is wide.
func (p *product) packsEach(s *settings) bool {
	return p.starves() && !p.ready() && p.wide(s.workerCount()) && s.unnamed()
}

// wide reports whether workers are many and each has many columns.
func (p *product) wide(workers int) bool {
	return p.many(workers) && ceilDiv(p.n, p.kernel.NR) >= widePanels*workers
}

// many reports whether workers are so many that the slowest would keep the others
// waiting, and what they share takes longer than to have it twice.
func (p *product) many(workers int) bool {
	if p.starves() {
		return workers > fewWorkers
	}
	return workers > pair
}

// lateRows returns the most rows of a tile whose B is packed late: its panels of A
// stay in half of an L2 cache.
func (p *product) lateRows() int {
	return max(leastLate, min(p.on.l2/2/(4*stageWords), mostLate))
}

// clusterExtent returns the most rows and columns of a cluster tile. Many
// workers need more slabs in a stage, and stages that are worth more.
func (p *product) clusterExtent(workers int) int {
	if workers > fewWorkers && p.on.l3 >= largeCache {
		return manyExtent
	}
	return tileExtent
}

// stageDepth returns the words of K in a stage, a multiple of step.
func stageDepth(k *asm.Kernel, step int) int {
	if step == 1 && k.PanelB(stageWords) <= panelBytes {
		return stageWords // as below, without the divisions, which small products would notice
	}
	return max(step, min(stageWords, panelBytes*step/k.PanelB(step))/step*step)
}

// load returns the bytes of A and B that a CTA's full barrier counts in a stage
// depth words deep.
func (g *plan) load(k *asm.Kernel, depth int) int64 {
	return int64(g.bm/k.MR)*int64(k.PanelA(depth)) + int64(g.bn/k.NR)*int64(k.PanelB(depth))
}

// balance returns the size of the parts when n is cut into as few nearly equal
// parts as have at most limit.
func balance(n, limit int) int { return ceilDiv(n, ceilDiv(n, limit)) }

func ceilDiv(n, d int) int { return (n + d - 1) / d }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// items returns the stages of all tiles.
func (g *plan) items() int { return g.tilesM * g.tilesN * g.steps }

func (g *plan) shape() pipeline.Shape {
	s := pipeline.Shape{
		Depth:   g.depth,
		Items:   g.items(),
		CTAs:    g.ctas,
		Slabs:   g.rowSlabs * g.colSlabs,
		Private: ceilDiv(g.bm, g.jobRows),
		Shared:  ceilDiv(g.bn, g.jobCols),
	}
	if g.bare {
		s.Shared = 0
	}
	return s
}

// bytes returns the slot memory that the plan needs: the ring's stages, then
// the accumulators and the chains.
func (g *plan) bytes() int64 {
	return int64(g.depth)*int64(g.stage()) + int64(g.bytesAcc) + int64(g.bytesChain)
}

func (g *plan) stage() int { return g.ctas*g.bytesA + g.bytesB }

// tile returns the origin in C of the cluster tile of item and its K step.
// Tiles that follow each other share their columns of B, and every second
// column of tiles is walked backwards so that they also share rows of A where
// the columns change.
func (g *plan) tile(item int) (row, col, step int) {
	t, step := item/g.steps, item%g.steps
	j, i := t/g.tilesM, t%g.tilesM
	if j&1 == 1 {
		i = g.tilesM - 1 - i
	}
	return i * g.bm * g.ctas, j * g.bn, step
}

// depthOf returns the first element of K of a step and how many it has. No step
// crosses from one block to the next.
func (g *plan) depthOf(step int) (first, n int) {
	block := step / g.blockSteps
	first = block*g.blockK + step%g.blockSteps*g.bk
	end := min((block+1)*g.blockK, g.extentK)
	return first, min(g.bk, end-first)
}

// phase is what some elements of K are to its blocks.
type phase struct {
	first, ends bool // the first and the last of a block
	whole       bool // a block, which a kernel adds to those before
	added       bool // there are blocks before
	last        bool // the last of K
}

// phaseAt says what n elements of K from k0 on are.
func (p *product) phaseAt(k0, n int) phase {
	if n == p.k { // a small product would notice the divisions
		return phase{first: true, ends: true, whole: true, last: true}
	}
	block, last := p.chainK(), k0+n == p.k
	ph := phase{first: k0%block == 0, ends: last || (k0+n)%block == 0, added: k0 >= block, last: last}
	ph.whole = ph.first && ph.ends
	return ph
}

// source returns the src and lds of a kernel that multiplies those elements, with
// sums at p, in rows pitch bytes apart.
func (ph phase) source(p unsafe.Pointer, pitch int) (src unsafe.Pointer, lds int) {
	switch {
	case ph.whole && ph.added:
		return p, -pitch
	case ph.first:
		return nil, pitch
	}
	return p, pitch
}
