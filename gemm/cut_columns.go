package gemm

import (
	"math"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

const (
	streamMin    = 1 << 18  // least elements of a B whose columns are shared; smaller ones stay in a cache
	maxSlabs     = 1024     // slabs that workers look at to find one, unless they are many
	slabsEach    = 4        // slabs for each of several workers, of which one may be slow
	longCols     = 8192     // columns that are read as they lie at a time
	longRow      = 2 << 10  // bytes of a row of B that are long enough to be read fast, however large the slab
	longPanels   = 16       // panels of each worker that are long enough for it to take one slab
	piecesEach   = 8        // slabs times items of each of many workers
	pieceBytes   = 64 << 10 // bytes of B in a piece, at least
	pieceAlong   = 8 << 10  // bytes of its rows, at least, if they lie along K
	piecesAcc    = 8 << 20  // bytes of accumulators that outlast items, at most
	alongMin     = 256      // least elements of K of columns that are read as rows
	alongDepth   = 1024     // elements of K of B before the next panel of A reads them again
	againDepth   = 4096     // the same where kernels for few rows do
	sweepLeast   = 5        // rows for a kernel that sweeps, or reads columns as rows: fewer are multiplied where B lies
	behindPanels = 16       // panels of a block of K before the next, packed behind products
	sweptPanels  = 2        // panels of B in a piece
)

// sharesColumns reports whether workers had better share out the columns of a B that is read once.
func (q *problem) sharesColumns() bool {
	workers := q.atOnce()
	c := q.crowd(workers)
	rows := &q.on.columns[c]
	most := rows.most[q.formB]
	if q.held(workers, rows.part[q.formB]) && (q.on.repacks[c] || q.readsA()) {
		most = rows.held[q.formB]
	}
	return q.m <= most && q.n*q.k >= streamMin && !q.transC && !q.slabSource().lies() &&
		q.streamBytes() <= barrier.MaxTx*tile.PanelTxUnit
}

// planColumns returns how workers share out the columns of B.
func (q *problem) planColumns() Plan {
	workers := q.atOnce()
	g := Plan{share: byColumns, a: slotsOfA, b: q.streamSource(), workers: workers, group: 1}
	g.depth = q.streamDepth(g.b)
	c := &g.columns
	high, _ := q.panelOfA(g.b, 0)
	c.panelsA = ceilDiv(q.m, high)
	unit := q.unitK(g.depth)
	c.each = ceilDiv(unit, g.depth)
	before := (q.k - 1) / unit
	c.steps = before*c.each + ceilDiv(q.k-before*unit, g.depth)
	q.cutColumns(&g)
	q.cutItems(&g)
	switch {
	case c.items > 1:
		g.sums = inEngine
	case c.steps > 1:
		g.sums = inScratch
	}
	return g
}

// streamSource returns the fastest way to read B.
func (q *problem) streamSource() sourceB {
	k, on, c := q.kernel, q.on, q.crowd(q.atOnce())
	swept := on.swept[c]
	if q.sizeB() < on.l2 {
		swept = min(swept, on.sweptHeld)
	}
	along := on.along[c]
	if q.n*q.k >= on.alongEach*q.atOnce() {
		along = on.alongWide
	}
	few := on.inPlace[q.formB]
	if q.narrow() {
		few /= 2 // for it would be widened again for every panel of A
	}
	switch {
	case q.m < sweepLeast:
	case q.formB == alongK && q.m <= along && roundUp(q.m, k.NR)-q.m <= on.alongSpare &&
		q.n >= k.MR && q.k >= alongMin && k.InRows(q.elemB):
		return alongB
	case q.formB == inRows && q.m <= swept && q.n >= asm.SweepN && q.k >= asm.SweepK && k.Sweeps(q.elemB):
		return sweptB
	}
	switch {
	case q.m <= few && q.streams():
		return streamedB
	case q.ready():
		return storedB
	case k.PackDepth(q.elemB, q.formB == alongK) > 0:
		return behindB
	}
	return packedB
}

// streamDepth returns the elements of K in a step.
func (q *problem) streamDepth(b sourceB) int {
	switch {
	case b == behindB && q.formB != inPanels:
		words := q.on.fresh[q.formB]
		if q.m >= q.on.freshTiles*q.kernel.MR {
			words = q.on.freshTall[q.formB]
		}
		return words * q.kernel.KPack
	case b == sweptB:
		return asm.SweepK
	case b == alongB:
		return alongDepth
	case b == streamedB && q.formB == alongK && q.m > q.kernel.MR:
		return againDepth
	}
	return q.stageK()
}

// unitK returns the elements of K in a block of sums, or in a step that has several, or goes on with those before.
func (q *problem) unitK(depth int) int {
	if q.kernel.Arithmetic == asm.Native {
		return max(q.chainK(), depth)
	}
	return depth
}

// panelOfA returns the rows of a panel of A, and the bytes of one so many words deep. Where columns of B are
// rows, A's are columns.
func (q *problem) panelOfA(b sourceB, words int) (rows, bytes int) {
	if b == alongB {
		return q.kernel.NR, q.kernel.PanelB(words)
	}
	return q.kernel.MR, q.kernel.PanelA(words)
}

// streamBytes returns the size of A as panels, or one that is too much for a barrier if a row of A is.
func (q *problem) streamBytes() int64 {
	if q.k > maxStage {
		return math.MaxInt64 // an int of 32 bits does not count them
	}
	b := q.streamSource()
	blocks := ceilDiv(q.k, q.streamDepth(b)) + ceilDiv(q.k, q.chainK())
	rows, bytes := q.panelOfA(b, q.words(q.k))
	return int64(ceilDiv(q.m, rows)) * int64(bytes+tile.SlotAlign*blocks)
}

// cutColumns cuts the columns of B into slabs, those of a slab into blocks that scratch memory is enough for, and
// those of a block into groups that are packed together.
func (q *problem) cutColumns(g *Plan) {
	k, c, workers := q.kernel, &g.columns, g.workers
	panels, strip, size := ceilDiv(q.n, k.NR), q.bytesStrip(g), q.elemB.Size()
	share := max(1, panels/(slabsEach*workers))
	block := max(1, min(streamB/k.PanelB(q.words(g.depth)), streamAcc/strip))
	widest := max(slabBytes/(q.k*size), longRow/size) / k.NR
	cols := min(share, block)
	swept := q.on.sweeps[q.crowd(workers)] * workers
	switch g.b {
	case packedB:
		if q.on.group > 1 && q.formB == inRows {
			// The rows of all columns that the accumulators are enough for, before the next rows.
			block, g.group = max(1, streamAcc/strip), q.on.group
			cols = min(max(g.group/2, share), block)
		} else if q.on.group > 1 {
			block = 1
		}
	case behindB:
		block = max(1, min(behindPanels, (scratchBytes-q.behindBytes(g))/(q.sumsEach(g)*strip)))
		cols = min(share, block)
	case sweptB:
		block, g.group = max(1, broomAcc/(q.sumsEach(g)*strip)/sweptPanels)*sweptPanels, sweptPanels
		slabs := max(swept, ceilDiv(panels, max(1, widest/ceilDiv(q.m, k.NR))))
		cols = min(roundUp(ceilDiv(panels, slabs), sweptPanels), block)
	case streamedB:
		if q.formB == inPanels {
			unit := 1
			if c.panelsA == 1 {
				unit = k.StreamWidth(q.elemB, q.m) / k.NR
			}
			block = min(streamAcc/(q.m*4), longCols) / k.NR / unit * unit
			if whole := roundUp(share, unit); workers == 1 || ceilDiv(panels, whole) >= 2*workers {
				share = whole
			}
			cols = min(share, block)
			break
		}
		// Long pieces of memory are read fastest, but the slowest of many would keep the others waiting.
		each := 1
		if c.panelsA > 1 || workers > 2 && (workers > 2*fewWorkers || panels < longPanels*workers || q.formB == alongK) {
			each = slabsEach
		}
		block = min(longCols, (scratchBytes-2*tile.SlotAlign)/(q.m*4)) / k.NR
		cols = min(ceilDiv(panels, each*workers), block, widest)
	case alongB:
		most := min(max(1, slabBytes/(c.panelsA*q.k*size)/k.NR), longCols/k.NR)
		cols = ceilDiv(panels, max(swept, ceilDiv(panels, most)))
		block = cols
		q.cutAlong(g)
	}
	cols = max(cols, ceilDiv(panels, max(maxSlabs, slabsEach*workers)))
	c.cols, c.block = cols*k.NR, block*k.NR
	c.slabs = ceilDiv(q.n, c.cols)
}

// alongBytes are the most of a B along K that a panel of A is multiplied by before the next panel is.
const alongBytes = 512 << 10

// cutAlong says how many tiles of columns, and steps of K, are multiplied by a panel of A before the next panel is:
// a kernel stores the sums of one tile as it begins the next, and steps lie one after the other if there is but one
// panel.
func (q *problem) cutAlong(g *Plan) {
	k, c, few := q.kernel, &g.columns, q.on.alongTiles
	step := tileFlops(k, q.words(g.depth))
	if c.alongSteps = 1; c.panelsA == 1 {
		c.alongSteps = max(1, callLimit(k)/(step*max(1, few)))
	}
	deep := min(q.k, c.alongSteps*g.depth)
	if few > 0 && (c.panelsA > few || deep < q.k) {
		c.alongTiles = few // more sums, which wait for other panels or for more of K, would take the caches
		return
	}
	tile := k.MR * deep * q.elemB.Size()
	c.alongTiles = max(1, min(alongBytes/tile, callLimit(k)/tileFlops(k, q.words(deep)), streamB/q.bytesStrip(g)))
}

// cutItems cuts K into items. Many workers end together if what a slow one has left of its slabs is done by
// others: down K a slab goes from hand to hand.
func (q *problem) cutItems(g *Plan) {
	c := &g.columns
	c.items = 1
	if q.crowd(g.workers) >= many {
		row := q.k * q.elemB.Size()
		most := min(c.steps, pipeline.MaxDepth, min(c.cols, q.n)*row/pieceBytes)
		if q.formB == alongK {
			most = min(most, row/pieceAlong)
		}
		c.items = max(1, min(most, piecesEach*g.workers/c.slabs))
	}
	if q.bytesAcc(g) > piecesAcc {
		c.items = 1
	}
	c.span = roundUp(ceilDiv(c.steps, c.items), c.each) // whole blocks
	c.items = ceilDiv(c.steps, c.span)
	c.jobPanels = ceilDiv(c.steps*c.panelsA, g.workers)
}

// bytesStrip returns the size of the accumulators of a panel of columns, bytesAcc of those that outlast an item.
func (q *problem) bytesStrip(g *Plan) int { return g.columns.panelsA * q.kernel.MR * q.kernel.NR * 4 }

func (q *problem) bytesAcc(g *Plan) int {
	summing := g.b == streamedB // to rows of C or of sums like them
	switch {
	case g.columns.items == 1 || summing && q.direct():
		return 0
	case summing:
		return q.m * q.n * 4
	}
	return ceilDiv(q.n, q.stripCols(g)) * q.bytesStrip(g)
}

// stripCols returns how many columns a strip of accumulators has.
func (q *problem) stripCols(g *Plan) int {
	if g.b == alongB {
		return q.kernel.MR
	}
	return q.kernel.NR
}

// behindBytes returns the bytes of two panels, and sumsEach how many strips of sums a panel of columns has: those
// of a block of K are apart if it takes several steps.
func (q *problem) behindBytes(g *Plan) int { return 2 * q.kernel.PanelB(q.words(g.depth)) }

func (q *problem) sumsEach(g *Plan) int {
	if g.columns.each > 1 && g.columns.steps > g.columns.each {
		return 2
	}
	return 1
}
