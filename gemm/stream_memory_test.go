package gemm

import (
	"fmt"
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/race"
)

// TestStreamMemory checks that no stream takes more scratch memory than there
// is, whatever its shape, on processors of either kind. What a block of columns takes is
// counted here anew, as what computes it lays it out.
func TestStreamMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("it counts on one goroutine")
	}
	for _, is := range []bool{false, true} {
		restore, restoreHalves := PretendIntel(is), PretendHalves(!is)
		t.Run(fmt.Sprint("intel=", is), testStreamMemory)
		restoreHalves()
		restore()
	}
}

func testStreamMemory(t *testing.T) {
	var modes [plan.SlotsOfB]int
	for _, k := range asm.Kernels() {
		if k.Supported() != nil {
			continue
		}
		for _, a := range streamTypes {
			for _, b := range streamTypes {
				if a != b && !(is8Bit(a) || is8Bit(b)) || is8Bit(a) != is8Bit(b) && k.Arithmetic != Native ||
					!k.Accepts(a) || !k.Accepts(b) {
					continue
				}
				for _, v := range []view{{elem: b}, {elem: b, trans: true}, {elem: b, packed: true}} {
					forStreamShapes(k, a, v, func(p *product, workers int) {
						var st columnGrid
						p.Workers, p.Procs = workers, workers
						g := p.PlanColumns()
						err := st.init(p, &g)
						if err == nil {
							err = checkStreamMemory(&st)
						}
						if wide := k.StreamWidth(b, min(p.M, k.MR)); err == nil && workers == 1 &&
							g.B == plan.StreamedB && v.packed && st.PanelsA == 1 && st.Cols%wide != 0 {
							err = fmt.Errorf("slabs of %d columns are not what is read at a time, %d", st.Cols, wide)
						}
						if err != nil {
							t.Fatalf("%s, %v·%v, B transposed: %v, packed: %v, %dx%dx%d, %d workers: %v",
								k.Name, a, b, v.trans, v.packed, p.M, p.N, p.K, workers, err)
						}
						modes[g.B]++
					})
				}
			}
		}
	}
	t.Log(modes)
	_, err := asm.Select(asm.F32, "avx512")
	for b := plan.StreamedB; b <= plan.SweptB; b++ {
		anywhere := b != plan.StreamedB && b != plan.BehindB
		if modes[b] == 0 && (anywhere || err == nil) {
			t.Errorf("nobody reads B %v", b)
		}
	}
}

var streamTypes = []asm.Type{asm.BF16, asm.F16, asm.F32, asm.E4M3, asm.E5M2}

// forStreamShapes calls f with products of all shapes, which have an A but only
// the description of a B, and with numbers of workers.
func forStreamShapes(kernel *asm.Kernel, elem asm.Type, b view, f func(p *product, workers int)) {
	const longest = 5000
	data := make([]uint32, 512*longest) // untouched
	for _, m := range []int{
		1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 32, 33, 48, 63, 64, 65, 127, 128, 300, 511, 512,
	} {
		for _, n := range []int{1, 31, 32, 33, 95, 97, 256, 300, 511, 1000, 1025, 4097, 8192, 10007, 20000, 300_001} {
			for _, k := range []int{
				1, 2, 3, 16, 17, 63, 64, 65, 127, 128, 255, 256, 257, 512, 513, 1024, 4096, longest,
			} {
				p := product{Problem: plan.Problem{K: k, Kernel: kernel}, alpha: 1, b: b, c: view{rows: m, cols: n}}
				p.a = view{
					ptr:  unsafe.Pointer(unsafe.SliceData(data)),
					elem: elem, rows: m, cols: k, stride: k, len: m * k,
				}
				p.b.rows, p.b.cols, p.b.stride = k, n, n
				if b.trans {
					p.b.stride = k
				}
				if b.packed {
					p.b.stride = plan.StageElements(kernel, b.elem)
				}
				p.pose()
				p.survey(plan.Here)
				for _, workers := range []int{1, 2, 5, 64} {
					most := &p.On.Columns[p.Crowd(workers)].Most
					if m <= max(most[plan.InRows], most[plan.AlongK], most[plan.InPanels]) {
						f(&p, workers)
					}
				}
			}
		}
	}
}

// checkStreamMemory reports what of the scratch memory st exceeds, or why its
// blocks are not blocks of whole panels that cover the product.
func checkStreamMemory(st *columnGrid) error {
	k := st.Kernel
	switch {
	case st.Cols < 1 || st.Block < 1 || st.group < 1 || st.Cols%k.NR != 0 || st.Block%k.NR != 0 || st.group%k.NR != 0:
		return fmt.Errorf("slabs of %d columns, blocks of %d and groups of %d are not panels of %d",
			st.Cols, st.Block, st.group, k.NR)
	case st.bk < 1 || st.bk%k.KPack != 0:
		return fmt.Errorf("blocks of %d elements of K are not words of %d", st.bk, k.KPack)
	case st.ColumnCut.Slabs*st.Cols < st.N || st.Steps*st.bk < st.K:
		return fmt.Errorf("%d slabs of %d columns and %d steps of %d elements of K do not cover the product",
			st.ColumnCut.Slabs, st.Cols, st.Steps, st.bk)
	}
	cols := min(st.Block, st.Cols, st.N)
	if st.g.B == plan.StreamedB {
		if got := st.M * cols * 4; got > plan.ScratchBytes {
			return fmt.Errorf("%d rows of %d columns take %d bytes, there are %d", st.M, cols, got, plan.ScratchBytes)
		}
		return nil
	}
	panels, acc := plan.CeilDiv(cols, k.NR), plan.StreamAcc
	switch st.g.B {
	case plan.BehindB:
		acc = (plan.ScratchBytes - st.BehindBytes(st.g)) / st.SumsEach(st.g)
	case plan.SweptB:
		acc = plan.BroomAcc / st.SumsEach(st.g)
	case plan.AlongB:
		panels, acc = st.AlongTiles, plan.StreamB
	}
	if got := panels * st.PanelsA * k.MR * k.NR * 4; got > acc {
		return fmt.Errorf("the accumulators of %d columns take %d bytes, there are %d", cols, got, acc)
	}
	switch st.g.B {
	case plan.BehindB:
		return nil // they are before the accumulators
	case plan.SweptB:
		if got := st.group / k.NR * k.PanelB(st.Words(st.bk)); got > asm.SweepRoom {
			return fmt.Errorf("a piece of B takes %d bytes, there are %d", got, asm.SweepRoom)
		}
		return nil
	case plan.AlongB:
		most := max(k.NR, plan.SlabBytes/(st.PanelsA*st.K*st.b.elem.Size()))
		if st.Cols > min(most, plan.LongCols) && st.ColumnCut.Slabs < plan.MaxSlabs/2 {
			return fmt.Errorf("%d slabs of %d columns, the bound is %d",
				st.ColumnCut.Slabs, st.Cols, min(most, plan.LongCols))
		}
		if got := st.AlongTiles * k.MR * k.KStep(st.b.elem) * 4; got > plan.ScratchBytes-plan.StreamB {
			return fmt.Errorf("what is left of K takes %d bytes, there are %d", got, plan.ScratchBytes-plan.StreamB)
		}
		return nil
	}
	panels = min(panels, st.group/k.NR)
	if got := panels * k.PanelB(st.Words(min(st.bk, st.K))); !st.b.packed && got > plan.StreamB {
		return fmt.Errorf("%d panels of B take %d bytes, there are %d", panels, got, plan.StreamB)
	}
	return nil
}
