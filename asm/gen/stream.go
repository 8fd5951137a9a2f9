package main

import "fmt"

// The stream kernels multiply 1, 2, 4 or 8 rows of one panel of A by columns of B that are used once, so that reading B is
// all that counts. What a call needs stands in a streamBlock, which DI points at: see stream_amd64.go.
//
// S reads rows of K as they lie, by as many columns as there are. T reads rows along K, of one or two groups of 16
// columns. P reads packed panels, by as many columns as there are accumulators.

// streamRows are the numbers of rows of A for which there are kernels.
var streamRows = []int{1, 2, 4, 8}

// A stream describes one of the kernels.
type stream struct {
	form
	rows int // of A
	vecs int // vectors of accumulators for each row
}

// streams returns the file of stream kernels.
func streams() []byte {
	var s source
	s.WriteString(header)
	s.WriteString("#include \"go_asm.h\"\n")
	for _, f := range []form{pairs, words, bf16, f16} {
		for _, rows := range streamRows {
			stream{f, rows, min(4, 16/rows)}.straight(&s)
		}
	}
	for _, f := range []form{pairs, words, bf16, f16} {
		for _, rows := range streamRows {
			stream{f, rows, min(2, 8/rows)}.transposed(&s)
		}
	}
	for _, f := range []form{pairs, words} {
		for _, rows := range streamRows {
			stream{f, rows, min(8, 16/rows)}.panels(&s)
		}
	}
	s.words("streamInterleave", interleave())
	return s.Bytes()
}

// multiply writes acc += a·b.
func (k stream) multiply(s *source, acc, a, b int) {
	if k.kpack == 2 {
		s.dotBF16(acc, a, b)
	} else {
		s.op("VFMADD231PS Z%d, Z%d, Z%d", b, a, acc)
	}
}

// rank1 adds the products of the word of each row of A that is at DX and the vectors bs of B, with the prefetches of some
// addresses spread among them.
func (k stream) rank1(s *source, bs []int, fetch ...string) {
	for i := range k.rows {
		s.op("VBROADCASTSS %d(DX), Z%d", 4*i, 24+i%4)
		for v, b := range bs {
			k.multiply(s, i*k.vecs+v, 24+i%4, b)
		}
		for f := i * len(fetch) / k.rows; f < (i+1)*len(fetch)/k.rows; f++ {
			s.op("PREFETCHT0 %s", fetch[f])
		}
	}
}

// slotField returns word i of a field of a slot, an operand.
func (s *source) slotField(slot int, field string, i int) string {
	return fmt.Sprintf("(streamBlock_slots+%d*streamSlot__size+streamSlot_%s+%d)(DI)", slot, field, 8*i)
}

// slot loads word i of a field of a slot into a register.
func (s *source) slot(slot int, field string, i int, reg string) {
	s.op("MOVQ %s, %s", s.slotField(slot, field, i), reg)
}

// accumulators loads vector v of row i of a slot into Z(first + i·vecs + v), or clears all. addr is where vector v lies in the
// row that starts at AX, and mask says which of its columns exist; a nil mask says that all do.
func (k stream) accumulators(s *source, slot, first, vecs int, addr, mask func(v int) string) {
	zero, start := fmt.Sprintf("zero%d", slot), fmt.Sprintf("start%d", slot)
	s.slot(slot, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ %s", zero)
	for i := range k.rows {
		s.slot(slot, "src", i, "AX")
		for v := range vecs {
			z := first + i*vecs + v
			if mask == nil {
				s.op("VMOVUPS %s, Z%d", addr(v), z)
			} else {
				s.op("VMOVUPS.Z %s, %s, Z%d", addr(v), mask(v), z)
			}
		}
	}
	s.op("JMP %s", start)
	s.label(zero)
	for i := first; i < first+k.rows*vecs; i++ {
		s.op("VPXORD Z%d, Z%d, Z%d", i, i, i)
	}
	s.label(start)
}

// store is the inverse of accumulators. Rows beyond those that exist have the address of the last one that does, so it
// goes from the last row to the first.
func (k stream) store(s *source, slot, first, vecs int, addr, mask func(v int) string) {
	for i := k.rows - 1; i >= 0; i-- {
		s.slot(slot, "dst", i, "AX")
		for v := range vecs {
			z := first + i*vecs + v
			if mask == nil {
				s.op("VMOVUPS Z%d, %s", z, addr(v))
			} else {
				s.op("VMOVUPS Z%d, %s, %s", z, mask(v), addr(v))
			}
		}
	}
}

// rowAhead is how far in bytes the kernels for rows of K prefetch. A row shorter than shortRow is short enough for one
// row of A to need it too.
const rowAhead, shortRow = 512, 2048

// aim sets R13 and R12 to where the first and the second row of a pair are prefetched, seen from SI: ahead in the row, or near
// its end at the start of the row that comes next. One row of A goes on at loop, without prefetches, inside a long row.
func (k stream) aim(s *source) {
	s.op("MOVQ $%d, R13", rowAhead)
	s.op("CMPQ BX, $%d", rowAhead/k.bytes)
	s.op("JG inside")
	s.op("ADDQ streamBlock_next(DI), R13")
	if k.rows == 1 {
		s.op("JMP aimed")
	}
	s.label("inside")
	if k.rows == 1 {
		s.op("CMPQ streamBlock_n(DI), $%d", shortRow/k.bytes)
		s.op("JG loop")
		s.label("aimed")
	}
	s.op("LEAQ (R13)(R9*1), R12")
}

// straight writes the kernel for rows of K. It takes the columns block by block, each through all of K. The processor
// sees that each row is a stream, as long as there are not many more than sixteen. With one row of A it runs so far ahead
// that this is enough; with more it needs prefetches.
//
//	DI streamBlock   R8 offset in a row of accumulators   R9 stride   R10 block of B   R11 elements of K   BX columns left
//	SI row of B   DX A   CX elements left   R13 R12 what is prefetched for the rows of a pair, seen from SI
//	Z0-Z15 accumulators   Z16-Z23 B   Z24-Z27 A   Z29 zero   Z30 Z31 interleave
//	K1-K4 columns of the accumulators   K5 K6 columns of pairs
func (k stream) straight(s *source) {
	columns := 16 * k.vecs
	addr := func(v int) string { return fmt.Sprintf("%d(AX)(R8*1)", 64*v) }
	mask := func(v int) string { return fmt.Sprintf("K%d", 1+v) }
	s.function(fmt.Sprintf("streamS%d%s", k.rows, k.name), "c *streamBlock", 0, fmt.Sprintf("%d rows of A by %d columns at a time.", k.rows, columns))
	s.load(0, "c", "DI")
	s.op("MOVQ streamBlock_stride(DI), R9")
	s.op("MOVQ streamBlock_b(DI), R10")
	s.op("MOVQ streamBlock_k(DI), R11")
	s.op("MOVQ streamBlock_n(DI), BX")
	s.op("XORQ R8, R8")
	for i := range 6 {
		s.op("KXNORQ K%d, K%d, K%d", 1+i, 1+i, 1+i)
	}
	if k.kpack == 2 {
		s.op("VPXORD Z29, Z29, Z29")
		s.op("VMOVDQU32 ·streamInterleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·streamInterleave<>+64(SB), Z31")
	}

	s.label("block")
	s.op("CMPQ BX, $%d", columns)
	s.op("JGE full")
	s.op("MOVQ $-1, AX")
	s.op("BZHIQ BX, AX, AX")
	s.op("KMOVQ AX, K5")
	for v := range k.vecs {
		s.op("KMOVQ AX, K%d", 1+v)
		s.op("SHRQ $16, AX")
		if v == 1 {
			s.op("KMOVQ AX, K6")
		}
	}
	s.label("full")
	k.accumulators(s, 0, 0, k.vecs, addr, mask)
	s.slot(0, "a", 0, "DX")
	s.op("MOVQ R10, SI")
	s.op("MOVQ R11, CX")
	s.op("SUBQ $%d, CX", k.kpack)
	s.op("JL rest")
	k.aim(s)
	switch k.rows {
	case 1:
		k.straightLoop(s, "near", columns*k.bytes)
		s.op("JMP rest")
		k.straightLoop(s, "loop", 0)
	case 8:
		// Two lines at a time are cheaper than one at every block.
		s.op("TESTQ $%d, R8", columns*4)
		s.op("JNZ odd")
		k.straightLoop(s, "loop", 2*columns*k.bytes)
		s.op("JMP rest")
		k.straightLoop(s, "odd", 0)
	default:
		k.straightLoop(s, "loop", columns*k.bytes)
	}
	s.label("rest")
	if k.kpack == 2 {
		s.comment("An odd K has no second row.")
		s.op("CMPQ CX, $-1")
		s.op("JNE store")
		k.rank1(s, k.row(s, false))
	}
	s.label("store")
	k.store(s, 0, 0, k.vecs, addr, mask)
	s.op("ADDQ $%d, R10", columns*k.bytes)
	s.op("ADDQ $%d, R8", columns*4)
	s.op("SUBQ $%d, BX", columns)
	s.op("JG block")
	s.ret()
}

// straightLoop writes the loop over K under a label. Of each row it prefetches as many bytes as given.
func (k stream) straightLoop(s *source, label string, fetch int) {
	var lines []string
	for o := 0; o < fetch; o += 64 {
		lines = append(lines, fmt.Sprintf("%d(SI)(R13*1)", o))
		if k.kpack == 2 {
			lines = append(lines, fmt.Sprintf("%d(SI)(R12*1)", o))
		}
	}
	s.label(label)
	k.rank1(s, k.row(s, true), lines...)
	s.op("LEAQ (SI)(R9*%d), SI", k.kpack)
	s.op("ADDQ $32, DX")
	s.op("SUBQ $%d, CX", k.kpack)
	s.op("JGE %s", label)
}

// row loads a row of B, or a pair of rows of which the second may be missing, and returns the vectors.
func (k stream) row(s *source, second bool) (bs []int) {
	if k.kpack == 1 {
		for v := range k.vecs {
			k.load512(s, fmt.Sprintf("%d(SI)", 16*v*k.bytes), fmt.Sprintf("K%d", 1+v), 16+v)
			bs = append(bs, 16+v)
		}
		return bs
	}
	for v := range k.vecs / 2 {
		low, high, right := 16+v, 18+v, 20+v
		mask := fmt.Sprintf("K%d", 5+v)
		k.load512(s, fmt.Sprintf("%d(SI)", 64*v), mask, low)
		if second {
			k.load512(s, fmt.Sprintf("%d(SI)(R9*1)", 64*v), mask, high)
		} else {
			high = 29
		}
		s.op("VMOVDQA64 Z%d, Z%d", low, right)
		s.op("VPERMT2W Z%d, Z30, Z%d", high, low)
		s.op("VPERMT2W Z%d, Z31, Z%d", high, right)
		bs = append(bs, low, right)
	}
	return bs
}

// transposed writes the kernel for rows along K, by blocks of 16 words. vecs is the number of slots, each 16 columns.
//
// A row's 64 bytes are read once, because the rows of a matrix often lie a power of two apart and push one another out of
// the first-level cache; for that reason too the slots are at different places of their rows. Its four lanes go to where the same lanes of rows 4, 8 and 12 further are, and then the words of
// four rows are transposed within the lanes. What is prefetched comes between the products, a row at a time: sixteen
// prefetches at once keep the reads that follow them waiting.
//
//	DI streamBlock   SI offset in a row of B   DX R9 A of the slots   R10 R11 what they prefetch
//	CX blocks left   Z0-Z15 B   Z16-Z23 under way   Z24-Z31 accumulators   K1 K2 columns of the slots
func (k stream) transposed(s *source) {
	slotA := []string{"DX", "R9"}
	block := 16 * k.kpack * k.bytes // bytes of a row
	addr := func(int) string { return "(AX)" }
	s.function(fmt.Sprintf("streamT%d%s", k.rows, k.name), "c *streamBlock", 0, fmt.Sprintf("%d rows of A by %d columns.", k.rows, 16*k.vecs))
	s.load(0, "c", "DI")
	for g := range k.vecs {
		s.slot(g, "n", 0, "AX")
		s.mask("AX", "BX", fmt.Sprintf("K%d", 1+g))
		k.accumulators(s, g, 24+g*k.rows, 1, addr, func(int) string { return fmt.Sprintf("K%d", 1+g) })
		s.slot(g, "a", 0, slotA[g])
		s.slot(g, "fetch", 0, streamFetch[g])
	}
	s.op("MOVQ streamBlock_k(DI), CX")
	s.op("XORQ SI, SI")
	s.label("loop")
	for g := range k.vecs {
		k.lanes(s, g)
		for l := range 4 {
			quad(s, 4*l)
			for w := 4 * l; w < 4*l+4; w++ {
				s.slot(g, "rows", w, "AX")
				s.op("PREFETCHT0 (AX)(%s*1)", streamFetch[g])
				for i := range k.rows {
					s.op("VBROADCASTSS %d(%s), Z%d", 32*w+4*i, slotA[g], 20+i%4)
					k.multiply(s, 24+g*k.rows+i, 20+i%4, w)
				}
			}
		}
		s.op("ADDQ $512, %s", slotA[g])
		s.op("ADDQ $%d, %s", block, streamFetch[g])
		s.op("CMPQ %s, %s", streamFetch[g], s.slotField(g, "end", 0))
		s.op("CMOVQEQ %s, %s", s.slotField(g, "next", 0), streamFetch[g])
	}
	s.op("ADDQ $%d, SI", block)
	s.op("DECQ CX")
	s.op("JNZ loop")
	for g := range k.vecs {
		k.store(s, g, 24+g*k.rows, 1, addr, func(int) string { return fmt.Sprintf("K%d", 1+g) })
	}
	s.ret()
}

// streamFetch are the registers that hold, for each slot, the offset in a row of what is prefetched.
var streamFetch = [2]string{"R10", "R11"}

// lanes reads 16 words of each row of a slot and leaves lane l of row 4q+i in lane q of Z(4l+i).
func (k stream) lanes(s *source, slot int) {
	const in, tmp = 16, 20
	half := []string{"$0x88", "$0xdd"}
	for i := range 4 {
		for q := range 4 {
			s.slot(slot, "rows", 4*q+i, "AX")
			k.load512(s, "(AX)(SI*1)", "", in+q)
		}
		for h := range 2 {
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[h], in+1, in, tmp+2*h)
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[h], in+3, in+2, tmp+2*h+1)
		}
		for l := range 4 {
			h := l % 2
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[l/2], tmp+2*h+1, tmp+2*h, 4*l+i)
		}
	}
}

// quad transposes 4 × 4 words within each lane of Z(r)..Z(r+3).
func quad(s *source, r int) {
	const tmp = 16
	for i := 0; i < 4; i += 2 {
		s.op("VUNPCKLPS Z%d, Z%d, Z%d", r+i+1, r+i, tmp+i)
		s.op("VUNPCKHPS Z%d, Z%d, Z%d", r+i+1, r+i, tmp+i+1)
	}
	for i := range 2 {
		s.op("VUNPCKLPD Z%d, Z%d, Z%d", tmp+2+i, tmp+i, r+2*i)
		s.op("VUNPCKHPD Z%d, Z%d, Z%d", tmp+2+i, tmp+i, r+2*i+1)
	}
}

// panelsAhead is how far in bytes the kernels for panels prefetch, in all the panels together. Nearer or further they are slower:
// 8 rows reach .55 of the peak with 4 KB, .65 with 8, .80 with 16, .77 with 32 and .73 with 64.
const panelsAhead = 16384

// panels writes the kernel for panels of 32 columns that lie stride bytes apart.
//
//	DI streamBlock   R9 stride   R10 3·stride   SI B   DX A   CX words left
//	Z0-Z15 accumulators   Z16-Z23 B   Z24-Z27 A
func (k stream) panels(s *source) {
	s.function(fmt.Sprintf("streamP%d%s", k.rows, k.name), "c *streamBlock", 0, fmt.Sprintf("%d rows of A by %d columns.", k.rows, 16*k.vecs))
	s.load(0, "c", "DI")
	s.op("MOVQ streamBlock_stride(DI), R9")
	s.op("MOVQ streamBlock_b(DI), SI")
	s.op("MOVQ streamBlock_k(DI), CX")
	s.slot(0, "a", 0, "DX")
	s.op("LEAQ (R9)(R9*2), R10")
	addr := func(v int) string { return fmt.Sprintf("%d(AX)", 64*v) }
	k.accumulators(s, 0, 0, k.vecs, addr, nil)
	s.label("loop")
	var bs []int
	var fetch []string
	for v := range k.vecs {
		at := []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[v/2]
		s.op("VMOVUPS %d(SI)%s, Z%d", v%2*64, at, 16+v)
		bs, fetch = append(bs, 16+v), append(fetch, fmt.Sprintf("%d(SI)%s", panelsAhead/max(1, k.vecs/2)+v%2*64, at))
	}
	k.rank1(s, bs, fetch...)
	s.op("ADDQ $128, SI")
	s.op("ADDQ $32, DX")
	s.op("DECQ CX")
	s.op("JNZ loop")
	k.store(s, 0, 0, k.vecs, addr, nil)
	s.ret()
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
