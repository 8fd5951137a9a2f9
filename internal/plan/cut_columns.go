package plan

import (
	"math"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

const (
	maxSlabs     = 1024      // slabs that workers look at to find one, unless they are many
	longCols     = 8192      // columns that are read as they lie at a time
	longRow      = 2 << 10   // bytes of a row of B that are long enough to be read fast, however large the slab
	itemsEach    = 8         // slabs times items of each of many workers
	itemBytes    = 64 << 10  // bytes of B of a slab in an item, at least
	itemsAcc     = 8 << 20   // bytes of accumulators that outlast items, at most
	twoDepth     = 4096      // elements of K of two panels of A, of which those of one lie together
	sweepLeast   = 5         // rows for a kernel that sweeps or turns columns: fewer are multiplied where B lies
	behindPanels = 16        // panels of a block of K before the next, packed behind products
	longWorkers  = 8         // workers, at most, of which each streams one slab of rows of B, or of two workers two
	turnedBytes  = 512 << 10 // bytes of a B along K, at most, that a panel of A is multiplied by before the next is
)

// streamRow are the bytes of a row of B of which the slabs of more workers are multiples, and slabs that are packed.
var streamRow = [forms]int{InRows: 256}

// SharesColumns reports whether workers had better share out the columns of a B that is read once, refusesColumns why
// not.
func (q *Problem) SharesColumns() bool { return q.refusesColumns() == fits }

func (q *Problem) refusesColumns() refusal {
	most, _ := q.mostRows()
	switch {
	case q.M > most:
		return manyRows
	case q.N*q.K < streamMin:
		return smallB
	case q.TransC && q.FormB == InPanels, q.slabSource().lies():
		return liesNear
	case q.streamBytes() > maxStage:
		return longA
	}
	return fits
}

// mostRows returns the rows that are few enough for that, and whether that is because the workers' caches hold B.
func (q *Problem) mostRows() (most int, held bool) {
	workers := q.AtOnce()
	rows := &q.On.columns[CrowdOf(workers)]
	if q.held(workers, rows.part[q.FormB]) {
		return rows.held[q.FormB], true
	}
	return rows.most[q.FormB], false
}

// PlanColumns returns how workers share out the columns of B.
func (q *Problem) PlanColumns() Plan {
	workers := q.AtOnce()
	g := Plan{Share: ByColumns, A: SlotsOfA, B: q.streamSource(), Workers: workers}
	g.Step = q.streamStep(g.B)
	c := &g.Columns
	high, _ := q.panelOfA(g.B, 0)
	c.PanelsA = CeilDiv(q.M, high)
	c.Each, c.Steps = q.cutSteps(q.unitK(g.Step), g.Step)
	q.cutColumns(&g)
	q.cutItems(&g)
	switch {
	case c.Items > 1:
		g.Sums = InEngine
	case q.Blocks() > 1 || c.Steps > 1:
		g.Sums = InScratch
	}
	return g
}

// streamSource returns the fastest way to read B.
func (q *Problem) streamSource() SourceB {
	k, on, c := q.Kernel, q.On, CrowdOf(q.AtOnce())
	few := on.streamed[q.FormB]
	if q.narrow() {
		few /= 2 // for it would be widened again for every panel of A
	}
	switch {
	case q.M < sweepLeast:
	case q.FormB == AlongK && RoundUp(q.M, k.NR)-q.M <= on.turnedSpare && q.N >= k.MR && k.InRows(q.ElemB) && !q.TransC:
		return TurnedB
	case q.FormB == InRows && q.M <= on.swept[c] && q.N >= asm.SweepN && q.K >= asm.SweepK && k.Sweeps(q.ElemB):
		return SweptB
	}
	switch {
	case q.M <= few && q.streams():
		return StreamedB
	case q.Ready():
		return StoredB
	case k.PackDepth(q.ElemB, q.FormB == AlongK) > 0:
		return BehindB
	}
	return PackedB
}

// streamStep returns the elements of K in a step.
func (q *Problem) streamStep(b SourceB) int {
	switch {
	case b == BehindB && q.FormB != InPanels:
		return q.On.fresh[q.FormB] * q.Kernel.KPack
	case b == SweptB:
		return asm.SweepK
	case b == StreamedB && q.FormB == AlongK && q.M > q.Kernel.MR:
		return twoDepth
	}
	return q.StageK()
}

// ColumnStep returns the first element of K of a step of a plan by columns and how many it has.
func (q *Problem) ColumnStep(g *Plan, step int) (first, n int) {
	return stepOf(step, g.Columns.Each, q.unitK(g.Step), g.Step, q.K)
}

// unitK returns the elements of K in a block of sums, or in a step that has several, or goes on with those before.
func (q *Problem) unitK(depth int) int {
	if q.Kernel.Arithmetic == asm.Native {
		return max(q.ChainK(), depth)
	}
	return depth
}

// panelOfA returns the rows of a panel of A, and the bytes of one so many words deep. Where columns of B are
// rows, A's are columns.
func (q *Problem) panelOfA(b SourceB, words int) (rows, bytes int) {
	if b == TurnedB {
		return q.Kernel.NR, q.Kernel.PanelB(words)
	}
	return q.Kernel.MR, q.Kernel.PanelA(words)
}

// streamBytes returns the size of A as panels, or one that is too much for a barrier if a row of A is.
func (q *Problem) streamBytes() int64 {
	if q.K > maxStage {
		return math.MaxInt64 // an int of 32 bits does not count them
	}
	b := q.streamSource()
	blocks := CeilDiv(q.K, q.streamStep(b)) + CeilDiv(q.K, q.ChainK())
	rows, bytes := q.panelOfA(b, q.Words(q.K))
	return int64(CeilDiv(q.M, rows)) * int64(bytes+tile.SlotAlign*blocks)
}

// cutColumns cuts B's panels into slabs, and those of a slab into blocks that scratch memory is enough for.
func (q *Problem) cutColumns(g *Plan) {
	k, c, workers := q.Kernel, &g.Columns, g.Workers
	panels, strip, size := CeilDiv(q.N, k.NR), q.BytesStrip(g), q.ElemB.Size()
	least := slabsEach * workers
	cols, block := max(1, panels/least), max(1, min(StreamB/k.PanelB(q.Words(g.Step)), streamAcc/strip))
	widest := max(slabBytes/(q.K*size), longRow/size) / k.NR
	switch g.B {
	case PackedB:
		cols = RoundUp(cols, max(1, streamRow[q.FormB]/size/k.NR))
	case BehindB:
		block = max(1, min(behindPanels, (ScratchBytes-q.BehindBytes(g))/(q.SumsEach(g)*strip)))
	case SweptB:
		piece := asm.SweepN / k.NR
		block = max(1, BroomAcc/(q.SumsEach(g)*strip)/piece) * piece
		slabs := max(q.On.sweptSlabs[CrowdOf(workers)]*workers, CeilDiv(panels, max(1, widest/CeilDiv(q.M, k.NR))))
		cols = RoundUp(CeilDiv(panels, slabs), piece)
	case StreamedB:
		block = min(longCols, (ScratchBytes-2*tile.SlotAlign)/(q.M*k.Word)) / k.NR
		each, wide := q.streamedSlabs(workers)
		cols = min(CeilDiv(panels, each*workers), block, widest)
		cols = RoundUp(cols, max(1, min(wide/k.NR, CeilDiv(panels, workers))))
	case TurnedB:
		most := min(max(1, slabBytes/(c.PanelsA*q.K*size)/k.NR), longCols/k.NR)
		cols = CeilDiv(panels, max(least, CeilDiv(panels, most)))
		block = cols
		q.cutTurned(g)
	}
	cols = max(min(cols, block), CeilDiv(panels, max(maxSlabs, least)))
	c.Cols, c.Block = cols*k.NR, block*k.NR
	c.Slabs = CeilDiv(q.N, c.Cols)
}

// streamedSlabs returns how many slabs each worker has of a B that is streamed, and of how many columns they are a
// multiple. What is long in memory is read fastest, but the slowest of many would keep the others waiting.
func (q *Problem) streamedSlabs(workers int) (each, wide int) {
	each, wide = slabsEach, streamRow[q.FormB]/q.ElemB.Size()
	if q.FormB == InRows && workers <= longWorkers {
		each, wide = 1, 0
	}
	if workers <= 2 { // of which a slow one would keep half of the product
		return max(each, 2), q.Kernel.StreamWidth(q.ElemB, min(q.M, q.Kernel.MR)) // as many as are read at a time
	}
	return each, wide
}

// cutTurned says how many tiles of columns are multiplied by a panel of A before the next panel is: a kernel stores the
// sums of one tile as it begins the next.
func (q *Problem) cutTurned(g *Plan) {
	k, deep := q.Kernel, min(q.K, g.Step)
	near, call := turnedBytes/(k.MR*deep*q.ElemB.Size()), CallLimit(k)/TileFlops(k, q.Words(deep))
	g.Columns.TurnedTiles = max(1, min(near, call, StreamB/q.BytesStrip(g)))
}

// cutItems cuts K into items. Workers end together if what a slow one has left of its slabs, or one that comes late, is
// done by others: down K a slab goes from hand to hand.
func (q *Problem) cutItems(g *Plan) {
	c := &g.Columns
	c.Items = 1
	if g.Workers > 1 {
		row := q.K * q.ElemB.Size()
		most := min(c.Steps, pipeline.MaxDepth, min(c.Cols, q.N)*row/itemBytes)
		if q.FormB == AlongK {
			most = min(most, row/longRow)
		}
		c.Items = max(1, min(most, itemsEach*g.Workers/c.Slabs))
	}
	if q.BytesAcc(g) > itemsAcc {
		c.Items = 1
	}
	c.Span = RoundUp(CeilDiv(c.Steps, c.Items), c.Each) // whole blocks
	c.Items = CeilDiv(c.Steps, c.Span)
	c.JobPanels = CeilDiv(c.Steps*c.PanelsA, g.Workers)
}

// BytesStrip returns the bytes of the accumulators of a panel of columns.
func (q *Problem) BytesStrip(g *Plan) int {
	return g.Columns.PanelsA * q.Kernel.MR * q.Kernel.NR * q.Kernel.Word
}

// BytesAcc returns the bytes of the accumulators that outlast an item: of all columns, or 0 if there is one item.
func (q *Problem) BytesAcc(g *Plan) int {
	if g.Columns.Items == 1 {
		return 0
	}
	high, _ := q.panelOfA(g.B, 0)
	return g.Columns.PanelsA * high * RoundUp(q.N, q.Kernel.NR) * q.Kernel.Word
}

// BehindBytes returns the bytes of the two panels of B that are packed and multiplied by turns.
func (q *Problem) BehindBytes(g *Plan) int { return 2 * q.Kernel.PanelB(q.Words(g.Step)) }

// SumsEach returns how many strips of sums a panel of columns has: those of a block of K are apart if it takes several
// steps.
func (q *Problem) SumsEach(g *Plan) int {
	if g.Columns.Each > 1 && g.Columns.Steps > g.Columns.Each {
		return 2
	}
	return 1
}
