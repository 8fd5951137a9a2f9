package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// unpackedRows is how many rows of sums scratch memory holds.
const unpackedRows = plan.ScratchBytes / (maxNR * 4)

// runUnpacked computes the columns from .. to-1.
func (in *slab) runUnpacked(from, to int) {
	multiply := in.unpacked.Along
	if in.a.trans {
		multiply = in.unpacked.Across
	}
	wide := to - from
	if in.FormB == plan.InPanels {
		wide = in.Kernel.NR
	}
	if in.Direct() {
		for ; from < to; from += wide {
			in.sumUnpacked(multiply, 0, in.M, from, min(wide, to-from), in.c.at(0, from), in.c.pitch())
		}
		return
	}
	s := scratches.Get().(*scratch)
	sums := s.at()
	const pitch = maxNR * 4
	wide = min(wide, maxNR)
	for ; from < to; from += wide {
		cols := min(wide, to-from)
		for row := 0; row < in.M; row += unpackedRows {
			rows := min(unpackedRows, in.M-row)
			in.sumUnpacked(multiply, row, rows, from, cols, sums, pitch)
			in.store(in.c.at(row, from), sums, pitch, rows, cols)
		}
	}
	scratches.Put(s)
}

// sumUnpacked sums the blocks of K of so many rows and columns at dst.
func (in *slab) sumUnpacked(multiply asm.UnpackedFunc, row, rows, col, cols int, dst unsafe.Pointer, ldd int) {
	if in.FormB == plan.AlongK { // a row
		step := in.a.elem.Size()
		if in.a.trans {
			step = in.a.pitch()
		}
		in.unpacked.Vector(in.K, cols, in.a.ptr, step, in.b.at(0, col), in.b.pitch(), dst, false)
		in.turn.Did(plan.FlopsOf(1, cols, in.K))
		return
	}
	block, high := min(in.ChainK(), in.K), rows
	if plan.FlopsOf(rows, cols, block) > plan.CallFlops {
		high = max(1, plan.CallFlops/plan.FlopsOf(in.unpacked.Rows, cols, block)) * in.unpacked.Rows
	}
	for k0 := 0; k0 < in.K; k0 += block {
		n := min(block, in.K-k0)
		b, ldb := in.rowsB(k0, 0, col)
		for i := 0; i < rows; i += high {
			some := min(high, rows-i)
			multiply(some, cols, n, in.a.at(row+i, k0), in.a.pitch(), b, ldb, unsafe.Add(dst, i*ldd), ldd, k0 > 0)
			in.turn.Did(plan.FlopsOf(some, cols, n))
		}
	}
}
