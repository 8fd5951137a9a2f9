package main

import "fmt"

// The stream kernels for tiles multiply as AMX does, which is faster at many rows of A but not at reading B.

// mxcsrTiles is the MXCSR in whose way TDPBF16PS computes: subnormal operands (bit 6) and results (bit 15) are zeros, each
// step rounds to nearest even, and exceptions (bits 7 to 12) are masked.
const mxcsrTiles = 1<<15 | 0x3f<<7 | 1<<6

// Where a kernel for tiles keeps, in the room of its block, the even and then the odd elements of A, a line of each for every
// row, and the sums: for rows of K those of the odd elements, and for rows along K the accumulators.
const (
	tileLine = 64
	tileSums = 2 * 8 * tileLine
	tileStep = 32   // elements of K in a tile
	tileA    = 1024 // bytes of a panel of A from one tile to the next
)

// tiles writes the kernel for rows of K, of which it takes one tile or less. The sums of the odd elements and those of the
// even ones are apart until the end, so it goes through the odd rows of B and then through the even ones.
//
//	DI streamBlock   R8 offset in a row of accumulators   R9 stride   R10 block of B   R11 elements of K   BX columns left
//	SI row of B   DX A   CX rows of B left   R13 what is prefetched, seen from SI   R14 room
//	Z0-Z15 accumulators   Z16-Z19 B   Z24-Z27 A   Z29 zero   K1-K4 columns   K7 odd elements
//	0(SP) the caller's MXCSR   4(SP) that of the kernel
func (k stream) tiles(s *source) {
	columns := 16 * k.vecs
	mask := func(v int) string { return fmt.Sprintf("K%d", 1+v) }
	k.tileStart(s, "Across", columns)
	k.straightFields(s)
	s.op("VPXORD Z29, Z29, Z29")
	s.slot(0, "a", 0, "DX")
	k.widenTile(s, "DX")
	for v := range k.vecs {
		s.op("KXNORQ %s, %s, %s", mask(v), mask(v), mask(v))
	}

	s.label("block")
	s.op("CMPQ BX, $%d", columns)
	s.op("JGE full")
	s.op("MOVQ $-1, AX")
	s.op("BZHIQ BX, AX, AX")
	for v := range k.vecs {
		s.op("KMOVQ AX, %s", mask(v))
		s.op("SHRQ $16, AX")
	}
	s.label("full")
	k.aim(s)
	k.tileHalf(s, "odd")
	k.padTile(s)
	for z := range k.rows * k.vecs {
		s.op("VMOVAPS Z%d, %d(R14)", z, tileSums+tileLine*z)
	}
	k.tileHalf(s, "even")
	for z := range k.rows * k.vecs {
		s.op("VADDPS %d(R14), Z%d, Z%d", tileSums+tileLine*z, z, z)
	}
	k.tileSource(s, mask)
	k.store(s, 0, 0, k.vecs, k.column, mask)
	k.straightNext(s, columns)
	s.op("JG block")
	k.tileEnd(s)
}

// tileStart opens a kernel for tiles: it sets MXCSR, R14 to the room, and K7 to the odd elements.
func (k stream) tileStart(s *source, what string, columns int) {
	s.function(fmt.Sprintf("stream%s512Tilesx%d", what, k.rows), "c *streamBlock", 8, fmt.Sprintf("%d rows of A by %d columns.", k.rows, columns))
	s.op("STMXCSR 0(SP)")
	s.op("MOVL $%#x, 4(SP)", mxcsrTiles)
	s.op("LDMXCSR 4(SP)")
	s.load("c", "DI")
	s.op("LEAQ (streamBlock_room+%d)(DI), R14", tileLine-1)
	s.op("ANDQ $-%d, R14", tileLine)
	s.op("MOVL $0xaaaaaaaa, AX")
	s.op("KMOVD AX, K7")
}

// tileEnd closes it.
func (k stream) tileEnd(s *source) {
	s.op("LDMXCSR 0(SP)")
	s.ret()
}

// widenTile spreads the rows of a tile of A, which a register points at, in the room.
func (k stream) widenTile(s *source, a string) {
	for i := range k.rows {
		s.op("VMOVDQU32 %d(%s), Z24", tileLine*i, a)
		s.op("VMOVDQU16.Z Z24, K7, Z25")
		s.op("VPSLLD $16, Z24, Z24")
		s.op("VMOVDQA32 Z24, %d(R14)", tileLine*i)
		s.op("VMOVDQA32 Z25, %d(R14)", tileLine*(k.rows+i))
	}
}

// tileHalf sums the products of the odd or the even elements of K.
func (k stream) tileHalf(s *source, half string) {
	s.op("MOVQ R11, CX")
	if half == "odd" {
		s.op("LEAQ (R10)(R9*1), SI")
		s.op("LEAQ %d(R14), DX", tileLine*k.rows)
	} else {
		s.op("MOVQ R10, SI")
		s.op("MOVQ R14, DX")
		s.op("INCQ CX")
	}
	for z := range k.rows * k.vecs {
		k.kernel().zero(s, z)
	}
	s.op("SHRQ $1, CX")
	s.op("JZ %sDone", half)
	s.label(half + "Loop")
	k.rank1(s, k.row(s, true), tileLine, k.lines(16*k.vecs*k.bytes)...)
	s.op("LEAQ (SI)(R9*2), SI")
	s.op("ADDQ $4, DX")
	s.op("DECQ CX")
	s.op("JNZ %sLoop", half)
	s.label(half + "Done")
}

// padTile makes of a tile that is not whole one with zeros at its end. All that zeros do is to make +0 of -0, which is what a
// negative subnormal has become. The odd elements always lack one, and when their sum is not -0, whether that of the even ones
// is makes no difference to both together.
func (k stream) padTile(s *source) {
	s.op("CMPQ R11, $%d", tileStep)
	s.op("JGE whole")
	for z := range k.rows * k.vecs {
		s.op("VADDPS Z29, Z%d, Z%d", z, z)
	}
	s.label("whole")
}

// tileSource adds what was there before. All rows come before any is stored: see store.
func (k stream) tileSource(s *source, mask func(v int) string) {
	s.slot(0, "src", 0, "AX")
	s.op("TESTQ AX, AX")
	s.op("JZ first")
	for i := range k.rows {
		s.slot(0, "src", i, "AX")
		for v := range k.vecs {
			z := i*k.vecs + v
			s.op("VADDPS.Z %s, Z%d, %s, Z%d", k.column(v), z, mask(v), z)
		}
	}
	s.op("JMP store")
	s.label("first")
	for z := range k.rows * k.vecs {
		s.op("VADDPS Z29, Z%d, Z%d", z, z)
	}
	s.label("store")
}
