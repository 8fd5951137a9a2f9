package plan

import (
	"cmp"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/tile"
)

// The shape of a stage. A strip of A, SlabRows x BK, must stay in an L2 cache while a panel of B, NR x BK, stays in
// L1 and the panels of B pass by; and a stage must be worth many times what handing it over costs. Both operands are
// packed once for every tile, which costs 1/rows + 1/columns of the flops in bytes, so tiles are as large as leaves a
// ring of them, with the accumulators, in a few megabytes of L3.
const (
	leastTall   = 256       // rows of a tile whose B is packed for all of them, at least, though A exceeds an L2 cache
	mostTall    = 1024      // at most
	tallCols    = 2048      // columns of such a tile, at most
	ctaRows     = 512       // rows of a CTA, at most
	minSlabCols = 128       // columns below which no slab is halved, unless workers would be idle
	minJob      = 32 << 10  // bytes of a copy job that is long enough to stream
	maxJob      = 256 << 10 // bytes of a copy job that is short enough to share
)

// PlanRing returns how the product is computed on a ring. No stage has parts of two blocks of K, whose sums pass from
// stage to stage unrounded. The ring holds A alone, besides a B that is packed, where few workers pack B each panel
// when they come to multiply it by all the tile's rows, which takes less time than to copy it to the ring and to read
// it from there; but of few columns each would have none. And where each of many packs what its slabs need: to write a
// slot that many have read takes ten times as long as to write one's own memory (docs/findings/shared-lines.md).
func (q *Problem) PlanRing() Plan {
	g := Plan{Share: ByRing, A: SlotsOfA, B: SlotsOfB, Sums: InEngine, Workers: q.Workers}
	c := CrowdOf(q.Workers)
	from := q.On.packsFrom[c]
	free := !q.Asked.Any && from > 0 && CeilDiv(q.N, q.Kernel.NR) >= from*q.Workers
	switch {
	case q.Ready():
		g.B = StoredB
	case free, q.narrow():
		g.B = PackedB
	}
	q.cutRing(&g.Ring, c, g.B != SlotsOfB, free && c < Many || q.narrow())
	g.Step = g.Ring.BK
	g.Past = q.exceeds(1) // for who stores a part comes late, if ever, to the next
	return g
}

// cutRing cuts the product for a ring that holds no B if bare; tall is for slabs of all rows of a tile.
func (q *Problem) cutRing(g *RingCut, c Crowd, bare, tall bool) {
	k, on, stages := q.Kernel, q.On, 3 // to copy ahead of the slowest of several
	if q.Workers == 1 {
		stages = 1
	}
	g.extentK, g.workers, g.Depth = q.K, q.Workers, cmp.Or(q.Asked.Depth, stages)
	g.cutC(q, on.extent[c], tall)
	g.cutK(q)
	g.TilesM = CeilDiv(q.M, g.BM*g.CTAs)
	g.SlabRows, g.SlabCols = g.BM, g.BN
	if !tall {
		g.SlabRows = RoundUp(balance(g.BM, max(maxSlabRows, on.slabTiles*k.MR)), k.MR)
	}
	g.cutSlabs(k)
	g.PackCols = on.group * k.NR
	g.layOut(k, bare)
}

// cutC chooses the rows and columns of a tile. A tile whose B is packed for all of its rows has so many that its
// panels of A stay in half of a second-level cache.
func (g *RingCut) cutC(q *Problem, most int, tall bool) {
	cta, across := ctaRows, most
	if tall {
		most, across = max(leastTall, min(q.On.l2/2/(q.Kernel.Word*StageWords), mostTall)), tallCols
		cta = most
	}
	rows, cols := balance(q.M, most), min(cmp.Or(q.Asked.N, balance(q.N, across)), q.N)
	g.CTAs = CeilDiv(rows, cta)
	if q.Asked.M != 0 {
		rows, g.CTAs = min(q.Asked.M, q.M), 1
	}
	g.BM = RoundUp(CeilDiv(rows, g.CTAs), q.Kernel.MR)
	g.BN = RoundUp(cols, q.Kernel.NR)
	g.TilesN = CeilDiv(q.N, g.BN)
}

// cutK cuts K into blocks, and those into stages, whose depth may leave room for fewer rows of a tile.
func (g *RingCut) cutK(q *Problem) {
	k := q.Kernel
	words, step := q.Words(q.K), k.KStep(q.Elem)
	g.blockK = q.ChainK()
	depth := min(q.panelWords(), words)
	switch {
	case k.Arithmetic == asm.Native:
	case 0 < q.Part && q.Part <= StageWords:
		depth = q.Words(q.Part) // a chain that ends with its stage needs no memory of its own
	default:
		depth = RoundUp(balance(q.Words(g.blockK), q.panelWords()), step)
	}
	if q.Asked.K != 0 {
		depth = min(q.Words(q.Asked.K), words, q.Words(g.blockK))
	}
	for depth > step && g.load(k, depth) > maxStage {
		depth = RoundUp(depth/2, step)
	}
	if q.FormB == InPanels {
		// This depth is given, so it is the rows that must fit a barrier.
		depth = min(q.Words(q.StageK()), words)
		g.BM = min(g.BM, maxStage/k.PanelA(depth)*k.MR)
	}
	g.BK = depth * k.KPack
	g.blockSteps, g.Steps = q.cutSteps(g.blockK, g.BK)
}

// cutSlabs cuts slabs until workers have enough of them.
func (g *RingCut) cutSlabs(k *asm.Kernel) {
	g.RowSlabs, g.ColSlabs = CeilDiv(g.BM, g.SlabRows), 1
	halve := func(slabs, cols int) { // until there are so many, or they are so narrow
		for g.Slabs() < slabs && g.SlabCols > cols {
			g.SlabCols = RoundUp(g.SlabCols/2, k.NR)
			g.ColSlabs = CeilDiv(g.BN, g.SlabCols)
		}
	}
	halve(slabsEach*g.workers, minSlabCols)
	halve(g.workers, k.NR)
	for g.SlabRows > k.MR && g.Slabs() < g.workers {
		g.SlabRows = RoundUp(g.SlabRows/2, k.MR)
		g.RowSlabs = CeilDiv(g.BM, g.SlabRows)
	}
}

// Slabs returns how many slabs a stage has, for workers to share.
func (g *RingCut) Slabs() int { return g.CTAs * g.RowSlabs * g.ColSlabs }

// layOut says how much memory the parts of the ring take, and cuts its copies into jobs.
func (g *RingCut) layOut(k *asm.Kernel, bare bool) {
	panelA, panelB := k.PanelA(g.BK/k.KPack), k.PanelB(g.BK/k.KPack)
	g.BytesA = RoundUp(g.BM/k.MR*panelA, tile.SlotAlign)
	if !bare {
		g.BytesB = RoundUp(g.BN/k.NR*panelB, tile.SlotAlign)
	}
	job := min(max(g.Stage()/(2*g.workers), minJob), maxJob)
	g.JobRows = min(max(1, job/panelA)*k.MR, g.BM)
	g.JobCols = min(max(1, job/panelB)*k.NR, g.BN)
	g.BytesAcc = g.CTAs * g.RowSlabs * g.SlabRows * g.BN * k.Word
	if g.Steps > g.blockSteps && g.blockSteps > 1 {
		g.BytesChain = g.BytesAcc
	}
}

// load returns the bytes of A and B that a CTA's full barrier counts in a stage depth words deep.
func (g *RingCut) load(k *asm.Kernel, depth int) int64 {
	return int64(g.BM/k.MR)*int64(k.PanelA(depth)) + int64(g.BN/k.NR)*int64(k.PanelB(depth))
}

// Items returns the stages of all tiles.
func (g *RingCut) Items() int { return g.TilesM * g.TilesN * g.Steps }

// Bytes returns the slot memory that the plan needs: the ring's stages, then the accumulators and the chains.
func (g *RingCut) Bytes() int64 {
	return int64(g.Depth)*int64(g.Stage()) + int64(g.BytesAcc) + int64(g.BytesChain)
}

// Stage returns the bytes of a slot.
func (g *RingCut) Stage() int { return g.CTAs*g.BytesA + g.BytesB }

// Tile returns the origin in C of the cluster tile of item and its K step. Tiles that follow each other share their
// columns of B, and every second column of tiles is walked backwards so that they also share rows of A where the
// columns change.
func (g *RingCut) Tile(item int) (row, col, step int) {
	t, step := item/g.Steps, item%g.Steps
	j, i := t/g.TilesM, t%g.TilesM
	if j&1 == 1 {
		i = g.TilesM - 1 - i
	}
	return i * g.BM * g.CTAs, j * g.BN, step
}

// StepOf returns the first element of K of a step and how many it has. No step crosses from one block to the next.
func (g *RingCut) StepOf(step int) (first, n int) {
	return stepOf(step, g.blockSteps, g.blockK, g.BK, g.extentK)
}
