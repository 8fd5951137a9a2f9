package main

import (
	"fmt"
	"slices"
)

// The stream kernels multiply 1, 2, 4, 6 or 8 rows of one panel of A, or along K those of two panels, by columns of B
// that are used once, so that reading B is all that counts. What a call needs stands in a streamCall, which DI points
// at: see stream_amd64.go.
//
// Across reads rows of K as they lie, by as many columns as there are. Along reads rows along K, of up to four slots,
// each a vector of columns. Panels reads stored panels, by as many columns as there are accumulators. Far prefetches
// to the second-level cache.

// A stream describes one of the kernels.
type stream struct {
	form
	rows int  // of A
	vecs int  // vectors of accumulators for each row
	ymm  bool // 256-bit registers, otherwise 512-bit
	far  bool // what is read is prefetched to the second-level cache
}

// A streamTable says for which types and numbers of rows of A there are kernels, and how many vectors of accumulators
// a row has: most, and no more than all for all rows.
type streamTable []struct {
	forms     []form
	rows      []int
	most, all int
	ymm       bool
	far       []bool
}

// write writes the kernels of a table.
func (t streamTable) write(kernel func(k stream)) {
	for _, row := range t {
		for _, f := range row.forms {
			for _, rows := range row.rows {
				for _, far := range row.far {
					kernel(stream{f, rows, max(1, min(row.most, row.all/rows)), row.ymm, far})
				}
			}
		}
	}
}

// What the tables are made of.
var (
	streamRows = []int{1, 2, 4, 6, 8}
	streamFew  = []int{1, 2, 4}

	streams512 = append(slices.Clip(anyForm), doubles)
	streams256 = append(slices.Clip(asWords), doubles)

	near       = []bool{false}
	far        = []bool{true}
	nearAndFar = []bool{false, true}
)

// kernel returns the strip kernel with the same panels.
func (k stream) kernel() kernel {
	kern := words512
	switch {
	case k.ymm:
		kern = words256
	case k.kpack == 2:
		kern = pairs512
	}
	kern.f64 = k.form == doubles
	return kern
}

// vector returns how many columns a vector of accumulators has, and vectorB the bytes of so many of B.
func (k stream) vector() int  { return k.kernel().bytes() / k.word() }
func (k stream) vectorB() int { return k.vector() * k.bytes * k.kpack }

// function opens the function of the kernel.
func (k stream) function(s *source, what string, columns int) {
	s.function(fmt.Sprintf("stream%s%s%sx%d", what, k.kernel().set(), k.name, k.rows),
		"c *streamCall", 0, fmt.Sprintf("%d rows of A by %d columns.", k.rows, columns))
	s.load("c", "DI")
}

// registers returns the first register for B and the first for A, and how many there are for A. The accumulators come
// before them.
func (k stream) registers() (b, a, as int) {
	if k.ymm {
		b = k.rows * k.vecs
		return b, b + k.vecs, min(4, 16-b-k.vecs)
	}
	if k.is8() {
		return 16, 24, 2
	}
	return 16, 24, 4
}

// rank1 adds the products of the word of each row of A, the first at DX and the others so many bytes apart, and the
// vectors bs of B, with the prefetches of some addresses spread among them.
func (k stream) rank1(s *source, bs []int, apart int, fetch ...string) {
	_, a, as := k.registers()
	for i := range k.rows {
		k.kernel().float(s, "VBROADCASTSS", "%d(DX), %s", apart*i, k.kernel().reg(a+i%as))
		for v, b := range bs {
			k.kernel().multiply(s, i*k.vecs+v, a+i%as, b)
		}
		for f := i * len(fetch) / k.rows; f < (i+1)*len(fetch)/k.rows; f++ {
			s.op("%s %s", k.prefetch(), fetch[f])
		}
	}
}

// prefetch returns the instruction, and suffix how the names of functions that have it go on.
func (k stream) prefetch() string {
	if k.far {
		return "PREFETCHT1"
	}
	return "PREFETCHT0"
}

func (k stream) suffix() string {
	if k.far {
		return "Far"
	}
	return ""
}

// slotField returns word i of a field of a slot, an operand. Accumulators of a second panel of A are the next slot's.
func (s *source) slotField(slot int, field string, i int) string {
	if field == "src" || field == "dst" {
		slot, i = slot+i/8, i%8
	}
	return fmt.Sprintf("(streamCall_slots+%d*streamSlot__size+streamSlot_%s+%d)(DI)", slot, field, 8*i)
}

// slot loads word i of a field of a slot into a register.
func (s *source) slot(slot int, field string, i int, reg string) {
	s.op("MOVQ %s, %s", s.slotField(slot, field, i), reg)
}

// accumulators loads vector v of row i of a slot into register first + i·vecs + v, or clears all. addr is where
// vector v lies in the row that starts at AX, and mask says which of its columns exist; a nil mask says that all do.
func (k stream) accumulators(s *source, slot, first, vecs int, addr, mask func(v int) string) {
	zero, start := fmt.Sprintf("zero%dx%d", slot, vecs), fmt.Sprintf("start%dx%d", slot, vecs)
	s.slot(slot, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ %s", zero)
	if mask == nil {
		s.op("CMPQ streamCall_adds(DI), $0")
		s.op("JNE %s", zero)
	}
	for i := range k.rows {
		s.slot(slot, "src", i, "AX")
		for v := range vecs {
			z := first + i*vecs + v
			if mask == nil {
				k.kernel().float(s, "VMOVUPS", "%s, %s", addr(v), k.kernel().reg(z))
			} else {
				k.kernel().float(s, "VMOVUPS.Z", "%s, %s, Z%d", addr(v), mask(v), z)
			}
		}
	}
	s.op("JMP %s", start)
	s.label(zero)
	for i := first; i < first+k.rows*vecs; i++ {
		k.kernel().zero(s, i)
	}
	s.label(start)
}

// addSource adds src to the accumulators of whole vectors, if the block says so and there is one. All rows come
// before any is stored: see store.
func (k stream) addSource(s *source, slot, first, vecs int, addr func(v int) string) {
	added := fmt.Sprintf("added%dx%d", slot, vecs)
	s.op("CMPQ streamCall_adds(DI), $0")
	s.op("JEQ %s", added)
	s.slot(slot, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ %s", added)
	for i := range k.rows {
		s.slot(slot, "src", i, "AX")
		for v := range vecs {
			r := k.kernel().reg(first + i*vecs + v)
			k.kernel().float(s, "VADDPS", "%s, %s, %s", addr(v), r, r)
		}
	}
	s.label(added)
}

// store is the inverse of accumulators. Rows beyond those that exist have the address of the last one that does, so it
// goes from the last row to the first.
func (k stream) store(s *source, slot, first, vecs int, addr, mask func(v int) string) {
	for i := k.rows - 1; i >= 0; i-- {
		s.slot(slot, "dst", i, "AX")
		for v := range vecs {
			z := first + i*vecs + v
			if mask == nil {
				k.kernel().float(s, "VMOVUPS", "%s, %s", k.kernel().reg(z), addr(v))
			} else {
				k.kernel().float(s, "VMOVUPS", "Z%d, %s, %s", z, mask(v), addr(v))
			}
		}
	}
}

// aimAhead sets R11 to what is prefetched when SI is what is read of a panel.
func (k stream) aimAhead(s *source) {
	s.op("MOVQ streamCall_ahead(DI), R11")
	s.op("ADDQ SI, R11")
}

// interleave makes pairs of the elements of two rows, in the vectors low and high, with the tables of interleave in
// Z30 and Z31: those of the left half in low, of the right half in right.
func (s *source) interleave(low, high, right int) {
	s.op("VMOVDQA64 Z%d, Z%d", low, right)
	s.op("VPERMT2W Z%d, Z30, Z%d", high, low)
	s.op("VPERMT2W Z%d, Z31, Z%d", high, right)
}

// interleave returns the tables that pick words 16h..16h+15 of two vectors in turn, for VPERMT2W.
func interleave() []uint16 {
	var low, high []uint16
	for i := range uint16(16) {
		low = append(low, i, i+32)
		high = append(high, i+16, i+48)
	}
	return append(low, high...)
}
