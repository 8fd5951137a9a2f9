package gemm

import (
	"fmt"
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/pipeline"
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
	var modes [slotsOfB]int
	for _, k := range asm.Kernels() {
		if k.Supported() != nil {
			continue
		}
		for _, a := range streamTypes {
			for _, b := range streamTypes {
				if a != b && !(is8Bit(a) || is8Bit(b)) || is8Bit(a) != is8Bit(b) && k.Arithmetic != Native || !k.Accepts(a) || !k.Accepts(b) {
					continue
				}
				for _, v := range []view{{elem: b}, {elem: b, trans: true}, {elem: b, packed: true}} {
					forStreamShapes(k, a, v, func(p *product, workers int) {
						var st columnGrid
						p.workers, p.procs = workers, workers
						g := p.planColumns()
						err := st.init(p, &g)
						if err == nil {
							err = checkStreamMemory(&st)
						}
						if wide := k.StreamWidth(b, min(p.m, k.MR)); err == nil && workers == 1 && g.b == streamedB && v.packed && st.panelsA == 1 && st.cols%wide != 0 {
							err = fmt.Errorf("slabs of %d columns are not what is read at a time, %d", st.cols, wide)
						}
						if err != nil {
							t.Fatalf("%s, %v·%v, B transposed: %v, packed: %v, %dx%dx%d, %d workers: %v",
								k.Name, a, b, v.trans, v.packed, p.m, p.n, p.k, workers, err)
						}
						modes[g.b]++
					})
				}
			}
		}
	}
	t.Log(modes)
	_, err := asm.Select(asm.F32, "avx512")
	for b := streamedB; b <= sweptB; b++ {
		anywhere := b != streamedB && b != behindB
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
	for _, m := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 32, 33, 48, 63, 64, 65, 127, 128, 300, 511, 512} {
		for _, n := range []int{1, 31, 32, 33, 95, 97, 256, 300, 511, 1000, 1025, 4097, 8192, 10007, 20000, 300_001} {
			for _, k := range []int{1, 2, 3, 16, 17, 63, 64, 65, 127, 128, 255, 256, 257, 512, 513, 1024, 4096, longest} {
				p := product{problem: problem{k: k, kernel: kernel}, alpha: 1, b: b, c: view{rows: m, cols: n}}
				p.a = view{
					ptr:  unsafe.Pointer(unsafe.SliceData(data)),
					elem: elem, rows: m, cols: k, stride: k, len: m * k,
				}
				p.b.rows, p.b.cols, p.b.stride = k, n, n
				if b.trans {
					p.b.stride = k
				}
				if b.packed {
					p.packed = packing{kernel: kernel, elem: b.elem, k: k, n: n, bk: stageElements(kernel, b.elem)}
				}
				p.pose()
				p.survey(here, &settings{})
				for _, workers := range []int{1, 2, 5, 64} {
					if most := &p.on.columns[p.crowd(workers)].most; m <= max(most[inRows], most[alongK], most[inPanels]) {
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
	k := st.kernel
	switch {
	case st.cols < 1 || st.block < 1 || st.group < 1 || st.cols%k.NR != 0 || st.block%k.NR != 0 || st.group%k.NR != 0:
		return fmt.Errorf("slabs of %d columns, blocks of %d and groups of %d are not panels of %d", st.cols, st.block, st.group, k.NR)
	case st.bk < 1 || st.bk%k.KPack != 0:
		return fmt.Errorf("blocks of %d elements of K are not words of %d", st.bk, k.KPack)
	case st.columnCut.slabs*st.cols < st.n || st.steps*st.bk < st.k:
		return fmt.Errorf("%d slabs of %d columns and %d steps of %d elements of K do not cover the product", st.columnCut.slabs, st.cols, st.steps, st.bk)
	case st.items < 1 || st.items > pipeline.MaxDepth || st.span < 1 || (st.items-1)*st.span >= st.steps || st.items*st.span < st.steps:
		return fmt.Errorf("%d items of %d steps are not %d steps", st.items, st.span, st.steps)
	case st.bytesAcc(st.g) > piecesAcc:
		return fmt.Errorf("accumulators that outlast items take %d bytes, the bound is %d", st.bytesAcc(st.g), piecesAcc)
	}
	cols := min(st.block, st.cols, st.n)
	if st.g.b == streamedB {
		if got := st.m * cols * 4; got > scratchBytes {
			return fmt.Errorf("%d rows of %d columns take %d bytes, there are %d", st.m, cols, got, scratchBytes)
		}
		return nil
	}
	panels, acc := ceilDiv(cols, k.NR), streamAcc
	switch st.g.b {
	case behindB:
		acc = (scratchBytes - st.behindBytes(st.g)) / st.sumsEach(st.g)
	case sweptB:
		acc = broomAcc / st.sumsEach(st.g)
	case alongB:
		panels, acc = st.alongTiles, streamB
	}
	if got := panels * st.panelsA * k.MR * k.NR * 4; got > acc {
		return fmt.Errorf("the accumulators of %d columns take %d bytes, there are %d", cols, got, acc)
	}
	switch st.g.b {
	case behindB:
		return nil // they are before the accumulators
	case sweptB:
		if got := st.group / k.NR * k.PanelB(st.words(st.bk)); got > asm.SweepRoom {
			return fmt.Errorf("a piece of B takes %d bytes, there are %d", got, asm.SweepRoom)
		}
		return nil
	case alongB:
		most := max(k.NR, slabBytes/(st.panelsA*st.k*st.b.elem.Size()))
		if st.cols > min(most, longCols) && st.columnCut.slabs < maxSlabs/2 {
			return fmt.Errorf("%d slabs of %d columns, the bound is %d", st.columnCut.slabs, st.cols, min(most, longCols))
		}
		if got := st.alongTiles * k.MR * k.KStep(st.b.elem) * 4; got > scratchBytes-streamB {
			return fmt.Errorf("what is left of K takes %d bytes, there are %d", got, scratchBytes-streamB)
		}
		return nil
	}
	panels = min(panels, st.group/k.NR)
	if got := panels * k.PanelB(st.words(min(st.bk, st.k))); !st.b.packed && got > streamB {
		return fmt.Errorf("%d panels of B take %d bytes, there are %d", panels, got, streamB)
	}
	return nil
}
