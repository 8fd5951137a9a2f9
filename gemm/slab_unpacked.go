package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// unpackedRows is how many rows of sums scratch memory holds.
const unpackedRows = scratchBytes / (maxNR * 4)

// runUnpacked computes the columns from .. to-1.
func (in *slab) runUnpacked(from, to int) {
	multiply := in.unpacked.Along
	if in.a.trans {
		multiply = in.unpacked.Across
	}
	wide := to - from
	if in.formB == inPanels {
		wide = in.kernel.NR
	}
	if in.direct() {
		for ; from < to; from += wide {
			in.sumUnpacked(multiply, 0, in.m, from, min(wide, to-from), in.c.at(0, from), in.c.pitch())
		}
		return
	}
	s := scratches.Get().(*scratch)
	sums := s.at()
	const pitch = maxNR * 4
	wide = min(wide, maxNR)
	for ; from < to; from += wide {
		cols := min(wide, to-from)
		for row := 0; row < in.m; row += unpackedRows {
			rows := min(unpackedRows, in.m-row)
			in.sumUnpacked(multiply, row, rows, from, cols, sums, pitch)
			in.store(in.c.at(row, from), sums, pitch, rows, cols)
		}
	}
	scratches.Put(s)
}

// sumUnpacked sums the blocks of K of so many rows and columns at dst.
func (in *slab) sumUnpacked(multiply asm.UnpackedFunc, row, rows, col, cols int, dst unsafe.Pointer, ldd int) {
	if in.formB == alongK { // a row
		step := in.a.elem.Size()
		if in.a.trans {
			step = in.a.pitch()
		}
		in.unpacked.Vector(in.k, cols, in.a.ptr, step, in.b.at(0, col), in.b.pitch(), dst, false)
		in.turn.Did(flopsOf(1, cols, in.k))
		return
	}
	block, high := min(in.chainK(), in.k), rows
	if flopsOf(rows, cols, block) > callFlops {
		high = max(1, callFlops/flopsOf(in.unpacked.Rows, cols, block)) * in.unpacked.Rows
	}
	for k0 := 0; k0 < in.k; k0 += block {
		n := min(block, in.k-k0)
		b, ldb := in.rowsB(k0, 0, col)
		for i := 0; i < rows; i += high {
			some := min(high, rows-i)
			multiply(some, cols, n, in.a.at(row+i, k0), in.a.pitch(), b, ldb, unsafe.Add(dst, i*ldd), ldd, k0 > 0)
			in.turn.Did(flopsOf(some, cols, n))
		}
	}
}
