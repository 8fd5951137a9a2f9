package main

import "fmt"

// writeEpilogues writes what becomes of rows of sums: they are combined with an old C, rounded to 16 bits, or copied.
func writeEpilogues(s *source) {
	for _, v := range []vectors{avx2, avx2.doubles()} {
		v.combine(s)
		v.add(s)
	}
	s.copyRows()
	for _, f := range []form{bf16, f16} {
		f.round(s)
		f.roundPast(s)
	}
	s.words("firstWords", firstWords())
}

// rowsParams are rows of n elements, lds or ldd bytes apart.
const rowsParams = "dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int"

// loadRows loads them.
//
//	DI dst   R8 ldd   SI src   R9 lds   BX rows left   DX n
func (s *source) loadRows() {
	s.load("dst", "DI", "ldd", "R8", "src", "SI", "lds", "R9", "rows", "BX", "n", "DX")
}

// nextRow goes on with the next row, if there is one.
func (s *source) nextRow(label string) {
	s.op("ADDQ R8, DI")
	s.op("ADDQ R9, SI")
	s.op("DECQ BX")
	s.op("JNZ %s", label)
}

// combine writes the sum of two matrices times factors, each product rounded.
//
//	Y0 alpha   Y1 beta   DX bytes of a row   CX offset in a row
func (v vectors) combine(s *source) {
	s.function("combine256"+v.what(), fmt.Sprintf("%s, factors *[2]float%d", rowsParams, 8*v.word()), 0,
		fmt.Sprintf("dst = alpha·src + beta·dst, for factors alpha and beta; "+
			"rows is positive, n a positive multiple of %d.", v.bytes()/v.word()))
	s.loadRows()
	s.load("factors", "AX")
	v.float(s, "VBROADCASTSS", "(AX), Y0")
	v.float(s, "VBROADCASTSS", "%d(AX), Y1", v.word())
	s.op("SHLQ $%d, DX", 2+b2i(v.f64))
	v.float(s, "VXORPS", "X2, X2, X2")
	s.comment("A NaN is not equal to zero, and not below or above it either.")
	v.float(s, "VUCOMISS", "X2, X1")
	s.op("JNE both")
	s.op("JPS both")
	for _, label := range []string{"scale", "both"} {
		s.label(label)
		if label == "both" {
			s.comment("Rows of C lie on pages of their own, where the hardware prefetches nothing.")
			s.comment("The line in which a row begins before it came with the panel before.")
			s.op("LEAQ (DI)(R8*8), R10")
			s.op("PREFETCHT0 63(R10)")
			s.op("PREFETCHT0 127(R10)")
		}
		s.op("XORQ CX, CX")
		s.op("PCALIGN $32")
		s.label(label + "loop")
		v.float(s, "VMULPS", "(SI)(CX*1), Y0, Y3")
		if label == "both" {
			v.float(s, "VMULPS", "(DI)(CX*1), Y1, Y4")
			v.float(s, "VADDPS", "Y4, Y3, Y3")
		}
		v.float(s, "VMOVUPS", "Y3, (DI)(CX*1)")
		s.op("ADDQ $32, CX")
		s.op("CMPQ CX, DX")
		s.op("JLT %sloop", label)
		s.nextRow(label)
		s.ret()
	}
}

// add writes combine for factors of 1.
//
//	DX bytes of a row   CX offset in a row   R10 the last with four vectors after it
func (v vectors) add(s *source) {
	s.function("add256"+v.what(), rowsParams, 0,
		fmt.Sprintf("dst += src; rows is positive, n a positive multiple of %d.", v.bytes()/v.word()))
	s.loadRows()
	s.op("SHLQ $%d, DX", 2+b2i(v.f64))
	s.op("LEAQ -128(DX), R10")
	s.label("row")
	s.op("XORQ CX, CX")
	s.op("CMPQ CX, R10")
	s.op("JGT one")
	for _, part := range []struct {
		label string
		vecs  int
	}{{"four", 4}, {"one", 1}} {
		s.op("PCALIGN $32")
		s.label(part.label)
		for i := range part.vecs {
			v.float(s, "VMOVUPS", "%d(SI)(CX*1), Y%d", 32*i, i)
		}
		for i := range part.vecs {
			v.float(s, "VADDPS", "%d(DI)(CX*1), Y%d, Y%d", 32*i, i, i)
		}
		for i := range part.vecs {
			v.float(s, "VMOVUPS", "Y%d, %d(DI)(CX*1)", i, 32*i)
		}
		s.op("ADDQ $%d, CX", 32*part.vecs)
		if part.vecs > 1 {
			s.op("CMPQ CX, R10")
			s.op("JLE four")
			s.op("CMPQ CX, DX")
			s.op("JGE next")
		} else {
			s.op("CMPQ CX, DX")
			s.op("JLT one")
		}
	}
	s.label("next")
	s.nextRow("row")
	s.ret()
}

// copyRows writes the copy of rows, which brings rows to come closer.
//
//	CX offset in a row   R10 R11 rows to prefetch, both ends, which may lie in two lines
func (s *source) copyRows() {
	s.function("copy256", rowsParams, 0, "A copy of n bytes a row; rows is positive, n a positive multiple of 16.")
	s.loadRows()
	s.label("row")
	s.op("LEAQ (DI)(R8*8), R10")
	s.op("LEAQ (SI)(R9*8), R11")
	for _, r := range []string{"R10", "R11"} {
		s.op("PREFETCHT0 (%s)", r)
		s.op("PREFETCHT0 -1(%s)(DX*1)", r)
	}
	s.op("XORQ CX, CX")
	s.op("PCALIGN $32")
	s.label("loop")
	s.op("VMOVDQU (SI)(CX*1), X0")
	s.op("VMOVDQU X0, (DI)(CX*1)")
	s.op("ADDQ $16, CX")
	s.op("CMPQ CX, DX")
	s.op("JLT loop")
	s.nextRow("row")
	s.ret()
}

// round writes the rounding of rows to nearest even, which brings rows to come closer.
//
//	CX elements behind   AX those behind a vector, or left   R10 where these go   Y0-Y3 under way
func (f form) round(s *source) {
	s.function("round256"+f.name, rowsParams, 0, "Rows of n float32 rounded to "+f.name+"; rows and n are positive.")
	s.loadRows()
	f.roundStart256(s)
	s.label("row")
	s.comment("Both ends of a row to come, which may lie in two lines.")
	s.op("LEAQ (DI)(R8*8), R10")
	s.op("PREFETCHT0 (R10)")
	s.op("PREFETCHT0 -1(R10)(DX*2)")
	s.op("XORQ CX, CX")
	s.op("PCALIGN $32")
	s.label("loop")
	s.op("LEAQ 16(CX), AX")
	s.op("CMPQ AX, DX")
	s.op("JGT eight")
	s.op("VMOVUPS (SI)(CX*4), Y0")
	s.op("VMOVUPS 32(SI)(CX*4), Y1")
	f.round16(s, 0, 1)
	s.op("VMOVDQU Y0, (DI)(CX*2)")
	s.op("MOVQ AX, CX")
	s.op("JMP loop")
	s.label("eight")
	s.op("MOVQ DX, AX")
	s.op("SUBQ CX, AX")
	s.op("JZ next")
	s.op("LEAQ (DI)(CX*2), R10")
	s.op("CMPQ AX, $8")
	s.op("JLT rest")
	s.op("VMOVUPS (SI)(CX*4), Y0")
	f.round8(s)
	s.op("VMOVDQU X0, (R10)")
	s.op("ADDQ $8, CX")
	s.op("JMP eight")
	s.label("rest")
	s.op("LEAQ ·firstWords<>+32(SB), R11")
	s.op("NEGQ AX")
	s.op("VMOVDQU (R11)(AX*4), Y1")
	s.op("NEGQ AX")
	s.op("VMASKMOVPS (SI)(CX*4), Y1, Y0")
	f.round8(s)
	for _, part := range []struct {
		n          int
		move, next string
	}{{4, "VMOVQ", "two"}, {2, "VMOVD", "one"}, {1, "VPEXTRW $0,", "next"}} {
		s.op("TESTQ $%d, AX", part.n)
		s.op("JZ %s", part.next)
		s.op("%s X0, (R10)", part.move)
		if part.n > 1 {
			s.op("VPSRLDQ $%d, X0, X0", 2*part.n)
			s.op("ADDQ $%d, R10", 2*part.n)
		}
		s.label(part.next)
	}
	s.nextRow("row")
	s.ret()
}

// roundPast writes round for whole lines past the caches, one at a time, which is on its way at once.
func (f form) roundPast(s *source) {
	s.function("roundPast256"+f.name, rowsParams, 0,
		"The same past the caches, to whole lines: n is a positive multiple of 32.")
	s.loadRows()
	f.roundStart256(s)
	s.label("row")
	s.op("XORQ CX, CX")
	s.op("PCALIGN $32")
	s.label("loop")
	for i, v := range []int{0, 1, 4, 5} {
		s.op("VMOVUPS %d(SI)(CX*4), Y%d", 32*i, v)
	}
	f.round16(s, 0, 1)
	f.round16(s, 4, 5)
	s.op("VMOVNTDQ Y0, (DI)(CX*2)")
	s.op("VMOVNTDQ Y4, 32(DI)(CX*2)")
	s.op("ADDQ $32, CX")
	s.op("CMPQ CX, DX")
	s.op("JLT loop")
	s.nextRow("row")
	s.op("SFENCE")
	s.ret()
}

// roundStart256 sets the constants of near: Y13 is 1, Y14 0x7fff and Y15 the quiet bit in each dword.
func (f form) roundStart256(s *source) {
	if f == bf16 {
		s.op("VPCMPEQD Y13, Y13, Y13")
		s.op("VPSRLD $17, Y13, Y14")
		s.op("VPSRLD $31, Y13, Y13")
		s.op("VPSLLD $22, Y13, Y15")
	}
}

// round16 rounds the float32 in two vectors to one vector, low; it changes high, Y2 and Y3. Half-precision is rounded
// by an instruction whose immediate 0 asks for nearest even whatever MXCSR says.
func (f form) round16(s *source, low, high int) {
	if f == f16 {
		s.op("VCVTPS2PH $0, Y%d, X%d", low, low)
		s.op("VCVTPS2PH $0, Y%d, X%d", high, high)
		s.op("VINSERTI128 $1, X%d, Y%d, Y%d", high, low, low)
		return
	}
	s.near(low)
	s.near(high)
	s.op("VPACKUSDW Y%d, Y%d, Y%d", high, low, low)
	s.op("VPERMQ $0xd8, Y%d, Y%d", low, low)
}

// round8 rounds those in Y0 to X0; it changes X1, Y2 and Y3.
func (f form) round8(s *source) {
	if f == f16 {
		s.op("VCVTPS2PH $0, Y0, X0")
		return
	}
	s.near(0)
	s.op("VEXTRACTI128 $1, Y0, X1")
	s.op("VPACKUSDW X1, X0, X0")
}

// near leaves in each dword of a vector the bf16 nearest to the float32 there. A NaN keeps its upper half and becomes
// quiet.
func (s *source) near(x int) {
	s.op("VCMPPS $3, Y%d, Y%d, Y3", x, x)
	s.op("VPSRLD $16, Y%d, Y2", x)
	s.op("VPAND Y13, Y2, Y2")
	s.op("VPADDD Y14, Y2, Y2")
	s.op("VPADDD Y%d, Y2, Y2", x)
	s.op("VPOR Y15, Y%d, Y%d", x, x)
	s.op("VBLENDVPS Y3, Y%d, Y2, Y%d", x, x)
	s.op("VPSRLD $16, Y%d, Y%d", x, x)
}
