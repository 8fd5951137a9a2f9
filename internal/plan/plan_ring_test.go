package plan

import (
	"fmt"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
)

// checkRing checks that tiles cover C, slabs tiles, and steps K, once, and the bounds of a stage.
func checkRing(q *Problem, g *RingCut) error {
	k := q.Kernel
	ranges := []struct {
		what          string
		n, each, size int
	}{
		{"rows of tiles", g.TilesM, g.CTAs * g.BM, q.M}, {"columns of tiles", g.TilesN, g.BN, q.N},
		{"rows of slabs", g.RowSlabs, g.SlabRows, g.BM}, {"columns of slabs", g.ColSlabs, g.SlabCols, g.BN},
		{"rows of jobs", CeilDiv(g.BM, g.JobRows), g.JobRows, g.BM},
		{"columns of jobs", CeilDiv(g.BN, g.JobCols), g.JobCols, g.BN},
	}
	for _, a := range ranges {
		err := cover(a.what, a.n, a.size, func(i int) (from, to int) { return i * a.each, min((i+1)*a.each, a.size) })
		if err != nil {
			return err
		}
	}
	if err := cover("steps", g.Steps, q.K, func(step int) (from, to int) {
		from, n := g.StepOf(step)
		if n > g.BK || from/g.blockK != (from+n-1)/g.blockK {
			return from, from // which is an error
		}
		return from, from + n
	}); err != nil {
		return err
	}
	if tiles := g.TilesM * g.TilesN; tiles <= 1000 {
		seen := map[[2]int]bool{}
		for i := range tiles {
			row, col, step := g.Tile(i*g.Steps + g.Steps - 1)
			if seen[[2]int{row, col}] = true; step != g.Steps-1 || row%(g.CTAs*g.BM) != 0 || col%g.BN != 0 ||
				row >= q.M {
				return fmt.Errorf("tile %d is at row %d, column %d, step %d", i, row, col, step)
			}
		}
		if len(seen) != tiles {
			return fmt.Errorf("%d tiles are %d", tiles, len(seen))
		}
	}
	words := g.BK / k.KPack
	switch {
	case g.BM%k.MR != 0 || g.BN%k.NR != 0 || g.SlabRows%k.MR != 0 || g.SlabCols%k.NR != 0 ||
		g.JobRows%k.MR != 0 || g.JobCols%k.NR != 0:
		return fmt.Errorf("%+v are not panels of %dx%d", *g, k.MR, k.NR)
	case g.Depth < 1 || g.Depth > pipeline.MaxDepth || g.CTAs > pipeline.MaxCTAs || g.Slabs() > barrier.MaxCount:
		return fmt.Errorf("%d stages of %d CTAs of %d slabs", g.Depth, g.CTAs, g.Slabs())
	case g.load(k, words) > maxStage || TileFlops(k, words) > CallLimit(k) && words > k.KStep(q.Elem):
		return fmt.Errorf("%d words of K are too deep", words)
	case q.Asked.M > 0 && g.BM > RoundUp(q.Asked.M, k.MR), q.Asked.N > 0 && g.BN > RoundUp(q.Asked.N, k.NR),
		q.Asked.Depth > 0 && g.Depth != q.Asked.Depth:
		return fmt.Errorf("%d stages of %dx%d, where %+v was asked for", g.Depth, g.BM, g.BN, q.Asked)
	case !q.Asked.Any && g.Bytes() > mostRing(q):
		return fmt.Errorf("%d bytes, at most %d are promised", g.Bytes(), mostRing(q))
	}
	return nil
}

// mostRing returns what the documentation of package gemm promises of the memory of a ring.
func mostRing(q *Problem) int64 {
	most := int64(32 << 20)
	halves := q.Kernel.Arithmetic == asm.Native && q.Kernel.KPack == 1 && q.Elem.Size() < 4
	if q.Workers > severalWorkers && (q.Part > 0 || halves) {
		most = 48 << 20 // a stage is a part, or half a block, of K, whose sums are apart
	}
	if q.Kernel.Arithmetic == asm.Hopper {
		most += 4 << 20 // exponents
	}
	return most
}
