package main

// The bf16 of an fp8 number, exactly. With AVX512-VBMI its two bytes come from tables of 128 magnitudes, of which one
// instruction looks up 64; the tables are what the two types differ in, and DI, or who calls, says where they lie:
//
//	H0 H1  the upper bytes of magnitudes 0-63 and 64-127
//	L0 L1  the lower bytes
//
// Unpacking makes elements of the bytes, within lanes of 16 bytes; so the bytes are brought in an order first, which
// an index says, that leaves the elements in theirs.

// tables8 loads the tables from where reg points to into four registers from first on.
func (s *source) tables8(reg string, first int) {
	for i := range 4 {
		s.op("VMOVDQU64 %d(%s), Z%d", 64*i, reg, first+i)
	}
}

// bytes8 looks up the fp8 numbers in x: their upper bytes go to high, the lower ones to low. tables is the first
// register of the tables.
func (s *source) bytes8(x, high, low, tables int) {
	s.op("VMOVDQA64 Z%d, Z%d", x, high)
	s.op("VMOVDQA64 Z%d, Z%d", x, low)
	s.op("VPERMI2B Z%d, Z%d, Z%d", tables+1, tables, high)
	s.op("VPERMI2B Z%d, Z%d, Z%d", tables+3, tables+2, low)
	s.op("VPTERNLOGD.BCST $0xf8, ·signs8<>(SB), Z%d, Z%d", x, high) // high | x & signs
}

// elements8 makes bf16 of the first and the last halves of lanes of bytes.
func (s *source) elements8(high, low, first, last int) {
	s.op("VPUNPCKLBW Z%d, Z%d, Z%d", high, low, first)
	s.op("VPUNPCKHBW Z%d, Z%d, Z%d", high, low, last)
}

// index8 writes a table of 64 bytes: which byte comes to byte at of a lane.
func (s *source) index8(name string, byteOf func(lane, at int) int) {
	var table []uint16
	for i := 0; i < 64; i += 2 {
		table = append(table, uint16(byteOf(i/16, i%16)|byteOf((i+1)/16, (i+1)%16)<<8))
	}
	s.words(name, table)
}

// signs8 writes the signs of four fp8 numbers.
func (s *source) signs8() { s.words("signs8", []uint16{0x8080, 0x8080, 0x8080, 0x8080}) }

// writeWidenings writes the functions that widen rows of fp8.
func writeWidenings(s *source) {
	widen512(s)
	for _, t := range []fp8Type{{"E4M3", 3, 120, 0x7e, 0x7fc0}, {"E5M2", 2, 112, 0x7b, 0x7f80}} {
		widen256(s, t)
	}
	s.signs8()
	s.index8("inOrder8", func(lane, at int) int { return at/8*32 + 8*lane + at%8 })
}

// widen512 writes the function that makes bf16 of rows of any number of fp8 numbers.
//
//	DI dst   SI src   R8 ldd   R9 lds   CX rows   BX n   R10 R11 in a row   DX elements left   Z16-Z19 tables
//	Z20 order
func widen512(s *source) {
	s.function("widen512", rowsParams+", tables *table8", 0, "Rows of n fp8 numbers to bf16.")
	s.load("dst", "DI", "ldd", "R8", "src", "SI", "lds", "R9", "rows", "CX", "n", "BX", "tables", "AX")
	s.tables8("AX", 16)
	s.op("VMOVDQU64 ·inOrder8<>(SB), Z20")
	s.label("row")
	s.op("MOVQ SI, R10")
	s.op("MOVQ DI, R11")
	s.op("MOVQ BX, DX")
	s.op("SUBQ $64, DX")
	s.op("JL rest")
	s.label("loop")
	s.op("VPERMB (R10), Z20, Z0")
	s.bytes8(0, 1, 2, 16)
	s.elements8(1, 2, 3, 4)
	s.op("VMOVDQU64 Z3, (R11)")
	s.op("VMOVDQU64 Z4, 64(R11)")
	s.op("ADDQ $64, R10")
	s.op("ADDQ $128, R11")
	s.op("SUBQ $64, DX")
	s.op("JGE loop")
	s.label("rest")
	s.op("ADDQ $64, DX")
	s.op("JZ next")
	s.mask("DX", "AX", "K1")
	s.op("SHRQ $32, AX")
	s.op("KMOVQ AX, K2")
	s.op("VMOVDQU8.Z (R10), K1, Z0")
	s.op("VPERMB Z0, Z20, Z0")
	s.bytes8(0, 1, 2, 16)
	s.elements8(1, 2, 3, 4)
	s.op("VMOVDQU16 Z3, K1, (R11)")
	s.op("VMOVDQU16 Z4, K2, 64(R11)")
	s.label("next")
	s.op("ADDQ R9, SI")
	s.op("ADDQ R8, DI")
	s.op("DECQ CX")
	s.op("JNZ row")
	s.ret()
}

// An fp8Type is one to [widen256].
type fp8Type struct {
	name     string
	fraction int // bits
	bias     int // what leads from its exponent to that of bf16
	most     int // the largest magnitude
	special  int // what makes an infinity or NaN of bf16 of what is larger
}

// widen256 writes the function that makes bf16 of rows of a multiple of 16 fp8 numbers: the exponent takes another
// bias, but for subnormal numbers, which come from a table, and for infinities and NaN.
//
//	DI dst   SI src   R8 ldd   R9 lds   CX rows   BX n   DX element   Y0-Y5 under way   Y6-Y15 constants
func widen256(s *source, t fp8Type) {
	const (
		magnitude = 6 + iota
		sign
		bias
		least // of what is no subnormal number
		most
		special
		twice // an index of a word as those of its bytes
		second
		small // the bf16 of subnormal numbers
	)
	s.function("widen256"+t.name, rowsParams, 0, "Rows of n fp8 numbers to bf16; n is a multiple of 16.")
	s.load("dst", "DI", "ldd", "R8", "src", "SI", "lds", "R9", "rows", "CX", "n", "BX")
	constants := []uint16{0x7f, 0x80, uint16(t.bias << 7), 1 << t.fraction,
		uint16(t.most), uint16(t.special), 0x0202, 0x0100}
	for i := range constants {
		s.op("VPBROADCASTW ·constants%s<>+%d(SB), Y%d", t.name, 2*i, magnitude+i)
	}
	s.op("VBROADCASTI128 ·constants%s<>+%d(SB), Y%d", t.name, 2*len(constants), small)
	s.label("row")
	s.op("XORQ DX, DX")
	s.label("loop")
	s.op("VPMOVZXBW (SI)(DX*1), Y0")
	s.op("VPAND Y%d, Y0, Y1", magnitude)
	s.op("VPAND Y%d, Y0, Y0", sign)
	s.op("VPSLLW $8, Y0, Y0")
	s.op("VPSLLW $%d, Y1, Y2", 7-t.fraction)
	s.op("VPADDW Y%d, Y2, Y2", bias)
	s.op("VPMULLW Y%d, Y1, Y3", twice)
	s.op("VPADDW Y%d, Y3, Y3", second)
	s.op("VPSHUFB Y3, Y%d, Y3", small)
	s.op("VPCMPGTW Y1, Y%d, Y4", least)
	s.op("VPBLENDVB Y4, Y3, Y2, Y2")
	s.op("VPCMPGTW Y%d, Y1, Y4", most)
	s.op("VPAND Y%d, Y4, Y4", special)
	s.op("VPOR Y4, Y2, Y2")
	s.op("VPOR Y0, Y2, Y2")
	s.op("VMOVDQU Y2, (DI)(DX*2)")
	s.op("ADDQ $16, DX")
	s.op("CMPQ DX, BX")
	s.op("JLT loop")
	s.op("ADDQ R9, SI")
	s.op("ADDQ R8, DI")
	s.op("DECQ CX")
	s.op("JNZ row")
	s.ret()
	for i := range 8 {
		// A subnormal number is i times the smallest: normalise it.
		value, exponent := i, t.bias+1
		if i > 0 {
			for ; value < 1<<t.fraction; value *= 2 {
				exponent--
			}
			value = exponent<<7 | (value-1<<t.fraction)<<(7-t.fraction)
		}
		constants = append(constants, uint16(value))
	}
	s.words("constants"+t.name, constants)
}
