package main

// The stream kernels of fp8 are those of pairs or words, but for what they load: [stream.row8], [stream.panel8] and
// [stream.word8] make bf16 of it, and pairs or float32 of that, in registers.
var (
	pairs8 = form{"Pairs8", 1, 2} // two fp8 in a word, as bf16
	words8 = form{"Words8", 1, 1} // fp8, widened to float32
)

// writeStreams8 writes the stream kernels of fp8.
func writeStreams8(s *source) {
	for _, f := range []form{pairs8, words8} {
		f.copy8(s)
		f.transpose8(s)
		for _, rows := range streamRows {
			stream{f, rows, min(4, 16/rows), false, false}.across(s)
			stream{f, rows, min(8, 16/rows), false, false}.panels(s)
			stream{f, rows, min(2, 8/rows), false, false}.along(s)
		}
	}
	s.signs8()
	s.words("upper8", []uint16{0, 0xffff, 0, 0xffff})
	// Lane l of the vectors that come out has columns 4l..4l+3 of 16; and of pairs both rows of each, the second row
	// after 64 columns in two registers, or after 32 in one.
	pair := func(first, second int) func(lane, at int) int {
		return func(lane, at int) int { return first + at%2*second + at/8*16 + 4*lane + at/2%4 }
	}
	s.index8("firstPairs8", pair(0, 64))
	s.index8("lastPairs8", pair(32, 64))
	s.index8("panelPairs8", pair(0, 32))
	s.index8("words8", func(lane, at int) int { return at/4*16 + 4*lane + at%4 })
}

// is8 reports whether f is fp8.
func (f form) is8() bool { return f.bytes == 1 }

// Registers of the kernels for rows of K and for panels, beside the accumulators, 16-19 for B and 24 and 25 for A:
// what is under way, the tables, and the indices of how bytes are brought in order.
const (
	way8    = 20
	tables8 = 26
	index8  = 30
)

// start8 loads the indices, and the tables that AX points to.
func (s *source) start8(indices ...string) {
	s.tables8("AX", tables8)
	for i, name := range indices {
		s.op("VMOVDQU64 ·%s<>(SB), Z%d", name, index8+i)
	}
}

// rows8 is start8 for rows of K.
func (f form) rows8(s *source) {
	if f.kpack == 2 {
		s.start8("firstPairs8", "lastPairs8")
	} else {
		s.start8("words8")
	}
}

// across8 begins a kernel for rows of K.
func (k stream) across8(s *source) {
	s.op("MOVQ streamCall_table(DI), AX")
	k.rows8(s)
}

// load8 loads 64 columns, or 32 if that is all that the kernel has, of a row that may be cut off, to the register.
func (k stream) load8(s *source, addr string, z int) {
	if k.vecs < 4 {
		s.op("VMOVDQU8.Z %s, K5, Y%d", addr, z)
		return
	}
	s.op("VMOVDQU8.Z %s, K5, Z%d", addr, z)
}

// row8 is row for fp8.
func (k stream) row8(s *source, second bool) (bs []int) {
	const x, y, z, w = way8, way8 + 1, way8 + 2, way8 + 3
	for v := range k.vecs {
		bs = append(bs, 16+v)
	}
	k.load8(s, "(SI)", x)
	if k.kpack == 1 {
		s.op("VPERMB Z%d, Z%d, Z%d", x, index8, x)
		k.wordsOf(s, x, k.vecs)
		return bs
	}
	if second {
		k.load8(s, "(SI)(R9*1)", y)
	} else {
		s.op("VPXORD Z%d, Z%d, Z%d", y, y, y)
	}
	if k.vecs > 2 {
		s.op("VMOVDQA64 Z%d, Z%d", x, z)
		s.op("VPERMT2B Z%d, Z%d, Z%d", y, index8+1, z)
	}
	s.op("VPERMT2B Z%d, Z%d, Z%d", y, index8, x)
	s.bytes8(x, y, w, tables8)
	s.elements8(y, w, 16, 17)
	if k.vecs > 2 {
		s.bytes8(z, y, w, tables8)
		s.elements8(y, w, 18, 19)
	}
	return bs
}

// wordsOf makes vectors of float32, from register 16 on, of bytes that are in order.
func (k stream) wordsOf(s *source, x, vecs int) {
	const high, low, zero = way8 + 1, way8 + 2, way8 + 3
	s.bytes8(x, high, low, tables8)
	s.op("VPXORD Z%d, Z%d, Z%d", zero, zero, zero)
	s.elements8(high, low, x, high)
	for v, from := range []int{x, high}[:vecs/2] {
		s.op("VPUNPCKLWD Z%d, Z%d, Z%d", from, zero, 16+2*v)
		s.op("VPUNPCKHWD Z%d, Z%d, Z%d", from, zero, 17+2*v)
	}
}

// panels8 begins a kernel for panels.
func (k stream) panels8(s *source) {
	s.op("MOVQ streamCall_table(DI), AX")
	if k.kpack == 2 {
		s.start8("panelPairs8")
	} else {
		s.start8("words8")
	}
}

// panelsStep8 is panelsStep for fp8: one panel after the other, as there are registers for no more.
func (k stream) panelsStep8(s *source) {
	kern := k.kernel()
	for v := 0; v < k.vecs; v += kern.vecs {
		at := panelAt[v/kern.vecs]
		k.panel8(s, "(SI)"+at, 16)
		for i := range k.rows {
			_, a, as := k.registers()
			s.op("VBROADCASTSS %d(DX), %s", 4*i, kern.reg(a+i%as))
			for j := range kern.vecs {
				kern.multiply(s, i*k.vecs+v+j, a+i%as, 16+j)
			}
		}
		s.op("%s (R11)%s", k.prefetch(), at)
	}
}

// panel8 loads a word of K of a panel to registers b and b + 1.
func (k stream) panel8(s *source, addr string, b int) {
	const x, high, low, zero = way8, way8 + 1, way8 + 2, way8 + 3
	if k.kpack == 2 {
		s.op("VPERMB %s, Z%d, Z%d", addr, index8, x)
		s.bytes8(x, high, low, tables8)
		s.elements8(high, low, b, b+1)
		return
	}
	s.op("VMOVDQU8 %s, Y%d", addr, x)
	s.op("VPERMB Z%d, Z%d, Z%d", x, index8, x)
	s.bytes8(x, high, low, tables8)
	s.op("VPXORD Z%d, Z%d, Z%d", zero, zero, zero)
	s.op("VPUNPCKLBW Z%d, Z%d, Z%d", high, low, x)
	s.op("VPUNPCKLWD Z%d, Z%d, Z%d", x, zero, b)
	s.op("VPUNPCKHWD Z%d, Z%d, Z%d", x, zero, b+1)
}

// alongTables is the first register of the tables in kernels for rows along K.
const alongTables = 20

// slot8 is slot512 for fp8: the words that are transposed are of four elements.
func (k stream) slot8(s *source, slot, first int) {
	k.halves(s, slot, 0, 1)
	for h := range 2 {
		for w, reg := range s.half(8*h, 16) {
			w += 8 * h
			k.fetchWord(s, slot, w)
			steps := k.word8(s, reg, 8*h)
			for i, b := range steps {
				k.products(s, slot, first, len(steps)*w+i, b)
			}
		}
	}
}

// word8 makes words of K of a vector of four elements of each of 16 columns, and returns their registers, of the four
// from tmp on.
func (k stream) word8(s *source, x, tmp int) []int {
	high, low, left, right := tmp, tmp+1, tmp+2, tmp+3
	s.bytes8(x, high, low, alongTables)
	s.elements8(high, low, left, right)
	s.op("VSHUFPS $0x88, Z%d, Z%d, Z%d", right, left, high)
	s.op("VSHUFPS $0xdd, Z%d, Z%d, Z%d", right, left, low)
	if k.kpack == 2 {
		return []int{high, low}
	}
	s.op("VPSLLD $16, Z%d, Z%d", high, left)
	s.op("VPSLLD $16, Z%d, Z%d", low, right)
	for _, z := range []int{high, low} {
		s.op("VPANDD.BCST ·upper8<>(SB), Z%d, Z%d", z, z)
	}
	return []int{left, high, right, low}
}

// copy8 writes a packer from rows of K: of 64 columns at a time, which are two panels of 32, so that a cache line of
// the source is read once. n of the 64 columns exist; the panels lie panel bytes apart. If there is one only, it is
// written last.
//
//	SI source   R9 stride   DX elements of K left   DI panel   BX bytes from there to the second
//	K5 columns that exist
func (f form) copy8(s *source) {
	k := stream{f, 1, 4, false, false}
	s.function("packAcross512"+f.name+"x64", packSParams+", tables *table8", 0, "64 columns into panels of 32.")
	s.load("dst", "DI", "src", "SI", "stride", "R9", "n", "CX", "k", "DX", "panel", "BX", "tables", "AX")
	f.rows8(s)
	s.mask("CX", "AX", "K5")
	s.op("XORQ AX, AX")
	s.op("CMPQ CX, $32")
	s.op("CMOVQLE AX, BX")
	s.op("SUBQ $%d, DX", f.kpack)
	s.op("JL rest")
	step := func(second bool) {
		k.row8(s, second)
		s.op("VMOVDQU32 Z18, (DI)(BX*1)")
		s.op("VMOVDQU32 Z19, 64(DI)(BX*1)")
		s.op("VMOVDQU32 Z16, (DI)")
		s.op("VMOVDQU32 Z17, 64(DI)")
	}
	s.label("loop")
	step(true)
	s.op("PREFETCHT0 64(SI)")
	if f.kpack == 2 {
		s.op("PREFETCHT0 64(SI)(R9*1)")
	}
	s.op("LEAQ (SI)(R9*%d), SI", f.kpack)
	s.op("ADDQ $128, DI")
	s.op("SUBQ $%d, DX", f.kpack)
	s.op("JGE loop")
	s.label("rest")
	if f.kpack == 2 {
		s.op("CMPQ DX, $-1")
		s.op("JNE done")
		step(false)
		s.label("done")
	}
	s.ret()
}

// transpose8 writes a packer from rows along K: 16 of them, the columns of half a panel of 32, in blocks of 64
// elements of K.
//
//	DI streamCall   SI offset in a row   R10 of what is prefetched   DX panel   CX blocks left
func (f form) transpose8(s *source) {
	k := stream{f, 1, 1, false, true}
	s.function("packAlong512"+f.name+"x16", "c *streamCall", 0, "Half a panel of 32, in blocks of 64 elements of K.")
	s.load("c", "DI")
	s.op("MOVQ streamCall_table(DI), AX")
	s.tables8("AX", alongTables)
	s.slot(0, "a", 0, "DX")
	s.op("MOVQ streamCall_k(DI), CX")
	s.op("XORQ SI, SI")
	s.op("MOVQ $%d, R10", ahead)
	s.label("loop")
	k.halves(s, 0, 0, 1)
	at := 0
	for h := range 2 {
		for _, reg := range s.half(8*h, 16) {
			for _, b := range k.word8(s, reg, 8*h) {
				s.op("VMOVDQU32 Z%d, %d(DX)", b, at)
				at += 128
			}
		}
	}
	s.op("ADDQ $64, SI")
	s.op("ADDQ $64, R10")
	s.op("ADDQ $%d, DX", at)
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.ret()
}
