package main

import "fmt"

// The stream kernels multiply 1, 2, 4, 6 or 8 rows of one panel of A by columns of B that are used once, so that reading B is
// all that counts. What a call needs stands in a streamBlock, which DI points at: see stream_amd64.go.
//
// Across reads rows of K as they lie, by as many columns as there are. Along reads rows along K, of up to four slots, each a vector of
// columns. Panels reads stored panels, by as many columns as there are accumulators. Far prefetches to the
// second-level cache.

// streamRows are the numbers of rows of A for which there are kernels; those of AVX2 have up to 4.
var streamRows = []int{1, 2, 4, 6, 8}

// tileRows are those of the kernels for panels of AMX, which is faster itself at more.
var tileRows = []int{1, 2, 4}

// A stream describes one of the kernels.
type stream struct {
	form
	rows int  // of A
	vecs int  // vectors of accumulators for each row
	ymm  bool // 256-bit registers, otherwise 512-bit
	far  bool // what is read is prefetched to the second-level cache
}

// streams writes the stream kernels for rows of K and for panels.
func streams(s *source) {
	for _, f := range []form{pairs, words, bf16, f16} {
		for _, rows := range streamRows {
			for _, far := range []bool{false, true} {
				stream{f, rows, min(4, 16/rows), false, far}.straight(s)
			}
		}
	}
	for _, f := range []form{pairs, words, bf16, f16} {
		for _, rows := range streamRows {
			for _, far := range []bool{false, true} {
				stream{f, rows, min(8, 16/rows), false, far}.panels(s)
			}
		}
	}
	for _, rows := range streamRows {
		stream{bf16, rows, min(4, 16/rows), false, false}.tiles(s)
	}
	for _, rows := range tileRows {
		stream{bf16, rows, 2, false, false}.tilesStored(s)
	}
	streams256(s)
	s.words("streamInterleave", interleave())
}

// kernel returns the strip kernel with the same panels.
func (k stream) kernel() kernel {
	switch {
	case k.ymm:
		return kernels[2]
	case k.kpack == 2:
		return kernels[0]
	}
	return kernels[1]
}

// function opens the function of the kernel.
func (k stream) function(s *source, what string, columns int) {
	s.function(fmt.Sprintf("stream%s%s%sx%d", what, k.kernel().name[:3], k.name, k.rows), "c *streamBlock", 0, fmt.Sprintf("%d rows of A by %d columns.", k.rows, columns))
	s.load("c", "DI")
}

// registers returns the first register for B and the first for A, and how many there are for A. The accumulators come
// before them.
func (k stream) registers() (b, a, as int) {
	if k.ymm {
		b = k.rows * k.vecs
		return b, b + k.vecs, min(4, 16-b-k.vecs)
	}
	return 16, 24, 4
}

// rank1 adds the products of the word of each row of A, the first at DX and the others so many bytes apart, and the vectors bs
// of B, with the prefetches of some addresses spread among them.
func (k stream) rank1(s *source, bs []int, apart int, fetch ...string) {
	_, a, as := k.registers()
	for i := range k.rows {
		s.op("VBROADCASTSS %d(DX), %s", apart*i, k.kernel().reg(a+i%as))
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

// slotField returns word i of a field of a slot, an operand.
func (s *source) slotField(slot int, field string, i int) string {
	return fmt.Sprintf("(streamBlock_slots+%d*streamSlot__size+streamSlot_%s+%d)(DI)", slot, field, 8*i)
}

// slot loads word i of a field of a slot into a register.
func (s *source) slot(slot int, field string, i int, reg string) {
	s.op("MOVQ %s, %s", s.slotField(slot, field, i), reg)
}

// accumulators loads vector v of row i of a slot into register first + i·vecs + v, or clears all. addr is where vector v lies
// in the row that starts at AX, and mask says which of its columns exist; a nil mask says that all do.
func (k stream) accumulators(s *source, slot, first, vecs int, addr, mask func(v int) string) {
	zero, start := fmt.Sprintf("zero%dx%d", slot, vecs), fmt.Sprintf("start%dx%d", slot, vecs)
	s.slot(slot, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ %s", zero)
	if mask == nil {
		s.op("CMPQ streamBlock_adds(DI), $0")
		s.op("JNE %s", zero)
	}
	for i := range k.rows {
		s.slot(slot, "src", i, "AX")
		for v := range vecs {
			z := first + i*vecs + v
			if mask == nil {
				s.op("VMOVUPS %s, %s", addr(v), k.kernel().reg(z))
			} else {
				s.op("VMOVUPS.Z %s, %s, Z%d", addr(v), mask(v), z)
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

// addSource adds src to the accumulators of whole vectors, if the block says so and there is one. All rows come before any is stored:
// see store.
func (k stream) addSource(s *source, slot, first, vecs int, addr func(v int) string) {
	added := fmt.Sprintf("added%dx%d", slot, vecs)
	s.op("CMPQ streamBlock_adds(DI), $0")
	s.op("JEQ %s", added)
	s.slot(slot, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ %s", added)
	for i := range k.rows {
		s.slot(slot, "src", i, "AX")
		for v := range vecs {
			r := k.kernel().reg(first + i*vecs + v)
			s.op("VADDPS %s, %s, %s", addr(v), r, r)
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
				s.op("VMOVUPS %s, %s", k.kernel().reg(z), addr(v))
			} else {
				s.op("VMOVUPS Z%d, %s, %s", z, mask(v), addr(v))
			}
		}
	}
}

// aim sets R13 and R12 to where the first and the second row of a pair are prefetched, seen from SI: ahead in the row, or near
// its end at the start of the row that comes next.
func (k stream) aim(s *source) {
	s.op("MOVQ streamBlock_ahead(DI), R13")
	s.op("CMPQ BX, streamBlock_near(DI)")
	s.op("JG inside")
	s.op("ADDQ streamBlock_next(DI), R13")
	s.label("inside")
	if k.kpack == 2 {
		s.op("LEAQ (R13)(R9*1), R12")
	}
}

// straight writes the kernel for rows of K. It takes the columns block by block, each through all of K. The processor
// sees that each row is a stream, as long as there are not many more than sixteen, but does not follow it far enough ahead.
//
//	DI streamBlock   R8 offset in a row of accumulators   R9 stride   R10 block of B   R11 elements of K   BX columns left
//	SI row of B   DX A   CX elements left   R13 R12 what is prefetched for the rows of a pair, seen from SI
//	Z0-Z15 accumulators   Z16-Z23 B   Z24-Z27 A   Z29 zero   Z30 Z31 interleave
//	K1-K4 columns of the accumulators   K5 K6 columns of pairs
func (k stream) straight(s *source) {
	columns := 16 * k.vecs
	mask := func(v int) string { return fmt.Sprintf("K%d", 1+v) }
	k.straightStart(s)
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
	k.accumulators(s, 0, 0, k.vecs, k.column, mask)
	k.straightTop(s)
	s.op("JL rest")
	k.aim(s)
	if k.rows > 4 {
		// Two lines at a time are cheaper than one at every block.
		s.op("TESTQ $%d, R8", columns*4)
		s.op("JNZ odd")
		k.straightLoop(s, "loop", 2*columns*k.bytes)
		s.op("JMP rest")
		k.straightLoop(s, "odd", 0)
	} else {
		k.straightLoop(s, "loop", columns*k.bytes)
	}
	s.label("rest")
	if k.kpack == 2 {
		s.comment("An odd K has no second row.")
		s.op("CMPQ CX, $-1")
		s.op("JNE store")
		k.rank1(s, k.row(s, false), 4)
	}
	s.label("store")
	k.store(s, 0, 0, k.vecs, k.column, mask)
	k.straightNext(s, columns)
	s.op("JG block")
	s.ret()
}

// straightStart opens a kernel for rows of K.
func (k stream) straightStart(s *source) {
	k.function(s, "Across"+k.suffix(), k.vecs*k.kernel().bytes()/4)
	k.straightFields(s)
}

// straightFields loads what the kernel works on.
func (k stream) straightFields(s *source) {
	s.op("MOVQ streamBlock_stride(DI), R9")
	s.op("MOVQ streamBlock_b(DI), R10")
	s.op("MOVQ streamBlock_k(DI), R11")
	s.op("MOVQ streamBlock_n(DI), BX")
	s.op("XORQ R8, R8")
}

// straightTop goes to the top of a block of columns, and sets the flags for whether there is a row or a pair of rows.
func (k stream) straightTop(s *source) {
	s.slot(0, "a", 0, "DX")
	s.op("MOVQ R10, SI")
	s.op("MOVQ R11, CX")
	s.op("SUBQ $%d, CX", k.kpack)
}

// straightNext goes on by some columns, and sets the flags for whether there are more.
func (k stream) straightNext(s *source, columns int) {
	s.op("ADDQ $%d, R10", columns*k.bytes)
	s.op("ADDQ $%d, R8", columns*4)
	s.op("SUBQ $%d, BX", columns)
}

// column returns where vector v of a block of columns lies in a row of accumulators.
func (k stream) column(v int) string { return fmt.Sprintf("%d(AX)(R8*1)", v*k.kernel().bytes()) }

// straightLoop writes the loop over K under a label. Of each row it prefetches as many bytes as given.
func (k stream) straightLoop(s *source, label string, fetch int) {
	lines := k.lines(fetch)
	s.label(label)
	if k.ymm {
		k.step256(s, lines)
	} else {
		k.rank1(s, k.row(s, true), 4, lines...)
	}
	s.op("LEAQ (SI)(R9*%d), SI", k.kpack)
	s.op("ADDQ $%d, DX", 4*k.kernel().mr)
	s.op("SUBQ $%d, CX", k.kpack)
	s.op("JGE %s", label)
}

// lines returns the addresses to prefetch for so many bytes of a row, or of both rows of a pair.
func (k stream) lines(fetch int) (lines []string) {
	for o := 0; o < fetch; o += 64 {
		lines = append(lines, fmt.Sprintf("%d(SI)(R13*1)", o))
		if k.kpack == 2 {
			lines = append(lines, fmt.Sprintf("%d(SI)(R12*1)", o))
		}
	}
	return lines
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
		s.interleave(low, high, right)
		bs = append(bs, low, right)
	}
	return bs
}

// load loads a vector of words from memory where elements of 16 bits that are not pairs are narrow.
func (k stream) load(s *source, addr string, reg int) {
	switch {
	case k.kpack == 2:
		s.op("VMOVUPS %s, %s", addr, k.kernel().reg(reg))
	case k.ymm:
		k.load256(s, addr, reg)
	default:
		k.load512(s, addr, "", reg)
	}
}

// panels writes the kernel for panels that lie stride bytes apart. Where it reads several, a stride of 0 says that there is one only.
//
//	DI streamBlock   R9 stride   R10 3·stride   SI B   R11 what is prefetched   DX A   CX words left
func (k stream) panels(s *source) {
	one := k
	one.vecs = k.kernel().vecs
	k.function(s, "Panels"+k.suffix(), k.vecs*k.kernel().bytes()/4)
	s.op("MOVQ streamBlock_stride(DI), R9")
	s.op("MOVQ streamBlock_b(DI), SI")
	s.op("MOVQ streamBlock_k(DI), CX")
	s.slot(0, "a", 0, "DX")
	k.aimAhead(s)
	if k.vecs > one.vecs {
		s.op("TESTQ R9, R9")
		s.op("JZ one")
		s.op("LEAQ (R9)(R9*2), R10")
		k.panelsLoop(s, "loop")
		s.ret()
		s.label("one")
	}
	one.panelsLoop(s, "single")
	s.ret()
}

// panelsLoop writes the loop over K of a kernel for panels under a label, for as many as there are accumulators.
func (k stream) panelsLoop(s *source, label string) {
	kern := k.kernel()
	addr := func(v int) string { return fmt.Sprintf("%d(AX)", v*kern.bytes()) }
	k.accumulators(s, 0, 0, k.vecs, addr, nil)
	s.label(label)
	var bs []int
	var fetch []string
	b, _, _ := k.registers()
	vec := kern.bytes() * k.bytes * k.kpack / 4 // of a vector in memory
	for v := range k.vecs {
		at := []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[v/kern.vecs]
		o := v % kern.vecs * vec
		k.load(s, fmt.Sprintf("%d(SI)%s", o, at), b+v)
		bs = append(bs, b+v)
		if o%64 == 0 {
			fetch = append(fetch, fmt.Sprintf("%d(R11)%s", o, at))
		}
	}
	k.rank1(s, bs, 4, fetch...)
	s.op("ADDQ $%d, SI", kern.vecs*vec)
	s.op("ADDQ $%d, R11", kern.vecs*vec)
	s.op("ADDQ $%d, DX", 4*kern.mr)
	s.op("DECQ CX")
	s.op("JNZ %s", label)
	k.addSource(s, 0, 0, k.vecs, addr)
	k.store(s, 0, 0, k.vecs, addr, nil)
}

// aimAhead sets R11 to what is prefetched when SI is what is read of a panel.
func (k stream) aimAhead(s *source) {
	s.op("MOVQ streamBlock_ahead(DI), R11")
	s.op("ADDQ SI, R11")
}

// interleave makes pairs of the elements of two rows, in the vectors low and high, with the tables of interleave in Z30 and Z31:
// those of the left half in low, of the right half in right.
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
