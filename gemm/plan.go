package gemm

import (
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
	rowSlabs       int // slabs of a CTA: rowSlabs x colSlabs
	colSlabs       int
	slabRows       int
	slabCols       int
	jobRows        int // rows of A in one copy job
	jobCols        int // columns of B in one copy job
	depth          int
	workers        int
	bytesA, bytesB int // of a stage: one CTA's A, the cluster's B
	bytesAcc       int // accumulators of a cluster tile, 0 if none are needed
}

// The shape of a stage. A strip of A, slabRows x bk, must stay in an L2
// cache while a panel of B, NR x bk, stays in L1 and the panels of B pass by;
// and a stage must be worth many times what handing it over costs. Both
// operands are packed once for every tile, which costs 1/rows + 1/columns of the
// flops in bytes, so tiles are as large as leaves a ring of them, with the
// accumulators, in a few megabytes of L3.
const (
	stageWords   = 256  // depth of a panel in 32-bit words: 32 KB of B for NR = 32
	clusterRows  = 1024 // rows of a cluster tile
	clusterCols  = 1024
	ctaRows      = 512 // rows of a CTA in a cluster of several
	maxSlabRows  = 128
	minSlabCols  = 128
	slabsEach    = 4         // slabs of a stage for each worker, where the tile has them
	minJob       = 32 << 10  // bytes of a copy job: long enough to stream,
	maxJob       = 256 << 10 // short enough to share
	defaultDepth = 2
	// maxStage keeps a stage's transaction count within what a barrier counts.
	maxStage = (1<<20 - 1) * tile.PanelTxUnit
)

// newPlan returns the plan for p under s. No choice here changes a bit of the
// result: accumulators pass from stage to stage unrounded.
func newPlan(p *product, s *settings) plan {
	k := p.kernel
	g := plan{extentK: p.k, workers: s.workers, depth: s.depth}
	if g.depth == 0 {
		g.depth = defaultDepth
	}

	rows, ctas := balance(p.m, clusterRows), 1
	if s.tile[0] != 0 {
		rows = min(s.tile[0], p.m)
	} else if rows > ctaRows {
		ctas = 2
	}
	g.ctas = ctas
	g.bm = roundUp(ceilDiv(rows, ctas), k.MR)
	g.tilesM = ceilDiv(p.m, g.bm*ctas)

	cols := balance(p.n, clusterCols)
	if s.tile[1] != 0 {
		cols = min(s.tile[1], p.n)
	}
	g.bn = roundUp(cols, k.NR)
	g.tilesN = ceilDiv(p.n, g.bn)

	words := p.words(p.k)
	depth := balance(words, stageWords)
	if s.tile[2] != 0 {
		depth = min(p.words(s.tile[2]), words)
	}
	depth = max(1, min(depth, maxStage/4/(g.bm*ctas+g.bn)))
	g.bk = depth * k.KPack
	g.steps = ceilDiv(p.k, g.bk)

	g.slabRows = roundUp(balance(g.bm, maxSlabRows), k.MR)
	g.rowSlabs = ceilDiv(g.bm, g.slabRows)
	g.slabCols = g.bn
	for ctas*g.rowSlabs*ceilDiv(g.bn, g.slabCols) < slabsEach*s.workers && g.slabCols > max(minSlabCols, k.NR) {
		g.slabCols = roundUp(g.slabCols/2, k.NR)
	}
	g.colSlabs = ceilDiv(g.bn, g.slabCols)

	g.bytesA = roundUp(g.bm*depth*4, tile.SlotAlign)
	g.bytesB = roundUp(g.bn*depth*4, tile.SlotAlign)
	job := min(max(g.stage()/(2*s.workers), minJob), maxJob) / (depth * 4)
	g.jobRows = min(roundUp(max(1, job), k.MR), g.bm)
	g.jobCols = min(roundUp(max(1, job), k.NR), g.bn)
	g.bytesAcc = g.ctas * g.rowSlabs * g.slabRows * g.bn * 4
	return g
}

// balance returns the size of the parts when n is cut into as few nearly equal
// parts as have at most limit.
func balance(n, limit int) int { return ceilDiv(n, ceilDiv(n, limit)) }

func ceilDiv(n, d int) int { return (n + d - 1) / d }

func (g *plan) shape() pipeline.Shape {
	return pipeline.Shape{
		Depth:   g.depth,
		Items:   g.tilesM * g.tilesN * g.steps,
		CTAs:    g.ctas,
		Slabs:   g.rowSlabs * g.colSlabs,
		Private: ceilDiv(g.bm, g.jobRows),
		Shared:  ceilDiv(g.bn, g.jobCols),
	}
}

// bytes returns the slot memory that the plan needs: the ring's stages, then
// the accumulators.
func (g *plan) bytes() int { return g.depth*g.stage() + g.bytesAcc }

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

// depthOf returns the elements of K of a step.
func (g *plan) depthOf(step int) int { return min(g.bk, g.extentK-step*g.bk) }
