package main

import "strings"

// The AMX kernel. A tile is 16 rows of 64 bytes; TDPBF16PS adds to 16 × 16 float32 the product of 16 rows of A, 32 bf16
// each, by 16 words of K of 16 columns of B. Two tile registers hold C, for one panel of A after the other:
//
//	columns of B     0-15    16-31
//	               ┌───────┬───────┐
//	16 rows of A   │  C 0  │  C 1  │
//	               └───────┴───────┘
//
// A block of K, 16 words, is three loads and two products. With two rows of tiles four loads would do for four
// products. But tiles are scarce: on an Emerald Rapids whose core has another thread to run, loads and products take
// as long as if a thread had ten tiles, for what its registers hold and for the results of all instructions under
// way. So few registers are used, and what a product was the last to read is set to zero, which gives its tile back
// before a load fills the register again. Products that add to the same tile follow each other as fast as others.
//
// B is read again for every panel of A, so it is to stay in the first cache. A, of which every byte is read once, is
// loaded by TILELOADDT1, a hint not to keep it there; B is prefetched into it, two blocks ahead, while the first
// panel is multiplied.
//
// To store the tiles of C and to load the next would hold up the products of a panel. So both are mixed with the
// first block of the next panel: each tile is stored, loaded and added to before the next one is stored. Meanwhile
// the processor never has more than sixteen stores waiting for a product. What is loaded is in the first cache by
// then: the first blocks of the panel before prefetch it.
//
// To rows that are not whole lines of the cache, where a tile is stored slowly, past the caches, to a C of bf16, and
// where src is added to them, the tiles go by way of the stack, four rows in each of the first blocks of the next
// panel. A prefetch may go beyond the end of an operand: it reads nothing that a program could notice.
const (
	rowsOfTile = 16
	tileBytes  = rowsOfTile * 64
	blockBytes = 2 * tileBytes // of a panel of B in a block of K

	blocksAhead = 2      // for the prefetch of B
	rowsOfC     = 4      // to prefetch, and to copy, in a block
	rowBytes    = 2 * 64 // of the two tiles

	// The frame of a strip kernel: 64 bytes of variables, then memory for two tiles, aligned to 64 bytes.
	amxFrame = 64 + 64 + 2*tileBytes
)

// The tile registers that hold a tile of A and the two of B; the first two registers hold C.
const (
	heldA = 4
	heldB = 5
)

// amxStrips are the strip kernels, of panels of A or of A in rows.
var amxStrips = []struct {
	name string
	a    *amxA
	c    amxC
	doc  string
}{
	{"mulAMX", &panelsOfA, toCache, ""},
	{"rowsAMX", &rowsOfA, toCache, ""},
	{"mulPastAMX", &panelsOfA, toMemory, ", stored past the caches"},
	{"mulRoundAMX", &panelsOfA, shortCache, ", rounded to bf16"},
	{"mulRoundPastAMX", &panelsOfA, shortMemory, ", rounded to bf16, stored past the caches"},
	{"rowsRoundAMX", &rowsOfA, shortCache, ", rounded to bf16"},
	{"rowsPastAMX", &rowsOfA, toMemory, ", stored past the caches"},
	{"rowsRoundPastAMX", &rowsOfA, shortMemory, ", rounded to bf16, stored past the caches"},
}

func writeAMX(s *source) {
	for _, k := range amxStrips {
		amxMul(s, k.name, k.a, &k.c, k.doc)
	}
	amxPeak(s)
	s.tiles()
	s.words("uppers", uppers())
}

// An amxA is how a kernel finds A: in panels, or in rows where they lie.
type amxA struct {
	tile  memory // of a block
	step  int    // bytes to that of the next block
	first func(s *source)
	panel func(s *source) // moves on from the end of a panel to the next, first of all to the first
}

var (
	// SI block
	panelsOfA = amxA{
		tile:  memory{"SI", "R12", 1, 0},
		step:  tileBytes,
		first: func(*source) {},
		panel: func(*source) {},
	}
	// SI block of row 0   DX pitch   R9 from the end of row 0 to row 16
	rowsOfA = amxA{
		tile: memory{"SI", "DX", 1, 0},
		step: 64,
		first: func(s *source) {
			s.load("lda", "DX")
			s.load("k", "CX")
			s.op("SHLQ $2, CX")
			s.op("MOVQ DX, R9")
			s.op("SHLQ $4, R9")
			s.op("SUBQ CX, R9")
			s.op("SUBQ R9, SI")
		},
		panel: func(s *source) { s.op("ADDQ R9, SI") },
	}
)

// amxLoads writes the loads of a block: of A and of two tiles of B side by side, whose rows begin with row.
func amxLoads(s *source, a tileOp, of, row memory) {
	s.tile(a, heldA, of)
	s.tile(tileLoad, heldB, row)
	row.disp += 64
	s.tile(tileLoad, heldB+1, row)
}

// amxProduct writes the product of a block for tile j of C. The tiles that no other reads are set to zero.
func amxProduct(s *source, j int) {
	s.dotTile(j, heldA, heldB+j)
	s.zeroTile(heldB + j)
	if j == 1 {
		s.zeroTile(heldA)
	}
}

// amxBlock writes one block of K, before each of its products what first writes, and after each of its three steps what
// between writes, unless they are nil.
func amxBlock(s *source, a *amxA, first func(tile int), between func(step int)) {
	if first == nil {
		first = func(int) {}
	}
	if between == nil {
		between = func(int) {}
	}
	amxLoads(s, tileLoadT1, a.tile, memory{"DI", "R12", 2, 0})
	between(0)
	for j := range 2 {
		first(j)
		amxProduct(s, j)
		between(1 + j)
	}
	s.op("ADDQ $%d, SI", a.step)
	s.op("ADDQ $%d, DI", blockBytes)
}

// prefetchB writes the prefetch of a third of the lines of a block of B.
func prefetchB(s *source) func(step int) {
	line := 0
	return func(step int) {
		for ; line < blockBytes/64*(step+1)/3; line++ {
			s.op("PREFETCHT0 %d(DI)", blocksAhead*blockBytes+64*line)
		}
	}
}

// amxMul writes a strip kernel; see KernelFunc and Kernel.Strip for its contract.
func amxMul(s *source, name string, a *amxA, c *amxC, doc string) {
	params := "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int"
	if a == &rowsOfA {
		params, doc = strings.TrimSuffix(params, " int")+", lda int", ", A in rows"+doc
	}
	s.splitFunction(name, params, amxFrame, "1 × 2 tiles"+doc+".")
	amxStrip(s, a, c)
}

// amxStrip writes the rest of a strip kernel. The tile registers belong to the thread, so they are configured and
// released within the call.
//
//	BX panels of A left   CX blocks left   SI, DX, R9 A   DI B   R8 src of the next panel   R10 dst   R11 ldd   R12 64
//	R13 16·ldd   R14 row to copy   R15 memory of the kernel's own, for two tiles   AX row of C to prefetch
//	(SP) their pitch   8(SP) the end of the rows to copy   16(SP) the pitch of src, if it is added, and R8 the row to
//	add next   24(SP) 1 if it is
func amxStrip(s *source, a *amxA, c *amxC) {
	s.load("m", "BX", "a", "SI")
	s.load("src", "R8")
	s.load("dst", "R10", "ldd", "R11")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("MOVQ $64, R12")
	s.op("MOVQ R11, R13")
	s.op("SHLQ $4, R13")
	s.op("LEAQ 127(SP), R15")
	s.op("ANDQ $-64, R15")
	s.op("LEAQ %d(R15), R14", 2*tileBytes)
	s.op("MOVQ R14, 8(SP)")
	s.op("XORL CX, CX")
	s.load("lds", "AX")
	s.op("NEGQ AX")
	s.op("MOVQ AX, 16(SP)")
	s.op("JLE start0")
	s.op("TESTQ R8, R8")
	s.op("JZ start0")
	s.op("INCQ CX")
	s.label("start0")
	s.op("MOVQ CX, 24(SP)")
	if c.rounds {
		s.roundStart()
	}
	a.first(s)

	amxFirst(s, c)
	a.panel(s)
	s.load("b", "DI")
	s.load("k", "CX")
	s.op("DECQ BX")
	s.op("SHRQ $4, CX")
	s.op("JZ last")
	s.label("block")
	amxBlock(s, a, nil, prefetchB(s))
	prefetchC(s)
	s.op("DECQ CX")
	s.op("JNZ block")

	s.label("next")
	s.op("TESTQ BX, BX")
	s.op("JZ last")
	amxSwap(s, a, c)
	s.op("DECQ BX")
	s.load("k", "CX")
	s.op("SHRQ $4, CX")
	s.op("MOVQ R15, R14")
	if !c.always() {
		wholeLines(s)
		s.op("JZ inPlace")
	}

	amxCopies(s, a, c)
	amxLast(s, c)
	s.label("stored")
	s.comment("Where K is empty, every panel comes here.")
	s.op("TESTQ BX, BX")
	s.op("JNZ first")
	if c.past {
		s.op("SFENCE")
	}
	s.releaseTiles()
	s.ret()
}

// amxFirst writes the start of a panel whose tiles of C no other panel stores: they are loaded or zero. It leaves
// what to prefetch of C in AX and, rows apart, at SP.
func amxFirst(s *source, c *amxC) {
	s.label("first")
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	s.op("CMPQ %s, $0", added)
	s.op("JNE added")
	loadC(s, 0)
	loadC(s, 1)
	s.op("CMPQ BX, $1")
	s.op("JEQ loaded")
	s.op("MOVQ R8, AX")
	s.load("lds", "CX")
	s.op("JMP start")
	s.label("added")
	s.zeroTile(0)
	s.zeroTile(1)
	s.op("MOVQ R8, AX")
	s.op("MOVQ %s, CX", addedPitch)
	s.op("JMP start")
	s.label("zero")
	s.zeroTile(0)
	s.zeroTile(1)
	s.label("loaded")
	s.op("MOVQ %s, AX", c.soon())
	if c.past {
		s.op("XORL CX, CX")
	} else {
		s.op("MOVQ R11, CX")
	}
	s.label("start")
	s.op("MOVQ CX, (SP)")
}

// amxSwap writes the first block of another panel, in which the tiles of C are stored and those of that panel loaded,
// or zero.
func amxSwap(s *source, a *amxA, c *amxC) {
	s.comment("The first block of another panel, and the tiles of C in turn.")
	a.panel(s)
	s.load("b", "DI")
	s.op("MOVQ R15, R14")
	s.op("MOVQ $%d, CX", rowBytes)
	if !c.always() {
		wholeLines(s)
		s.op("CMOVQEQ R10, R14")
		s.op("CMOVQEQ R11, CX")
	}
	swap := func(load func(tile int)) {
		amxBlock(s, a, func(tile int) {
			s.tile(tileStore, tile, memory{"R14", "CX", 1, 64 * tile})
			load(tile)
		}, nil)
	}
	s.op("TESTQ R8, R8")
	s.op("JZ fresh")
	s.op("CMPQ %s, $0", added)
	s.op("JNE fresh")
	swap(func(tile int) { loadC(s, tile) })
	s.op("JMP swapped")
	s.label("fresh")
	swap(s.zeroTile)
	s.label("swapped")
}

// amxCopies writes the blocks of a panel that follow, with copies of C from the stack between them, or of a C that
// was stored in place without.
func amxCopies(s *source, a *amxA, c *amxC) {
	c.nextC(s)
	s.op("DECQ CX")
	s.op("JZ rest")
	s.label("copies")
	amxBlock(s, a, nil, nil)
	prefetchC(s)
	c.copy(s, "copies")
	s.op("DECQ CX")
	s.op("JZ rest")
	s.op("CMPQ R14, 8(SP)")
	s.op("JNE copies")
	amxBlocks(s, a, "alone")
	s.op("JMP next")
	s.label("rest")
	s.op("CMPQ R14, 8(SP)")
	s.op("JEQ next")
	c.copy(s, "rest")
	s.op("JMP rest")

	if !c.always() {
		s.label("inPlace")
		s.op("ADDQ R13, R10")
		c.nextC(s)
		s.op("DECQ CX")
		s.op("JZ next")
		s.label("prefetches")
		amxBlock(s, a, nil, nil)
		prefetchC(s)
		s.op("ADDQ $%d, R14", rowsOfC*rowBytes)
		s.op("DECQ CX")
		s.op("JZ next")
		s.op("CMPQ R14, 8(SP)")
		s.op("JNE prefetches")
		amxBlocks(s, a, "inPlaceAlone")
		s.op("JMP next")
	}
}

// amxLast writes how the tiles of the last panel are stored.
func amxLast(s *source, c *amxC) {
	s.label("last")
	if !c.always() {
		wholeLines(s)
		s.op("JNZ split")
		for tile := range 2 {
			s.tile(tileStore, tile, memory{"R10", "R11", 1, 64 * tile})
		}
		s.op("ADDQ R13, R10")
		s.op("JMP stored")
		s.label("split")
	}
	for tile := range 2 {
		s.tile(tileStore, tile, memory{"R15", "R12", 2, 64 * tile})
	}
	s.op("MOVQ R15, R14")
	s.label("copy")
	c.copy(s, "copy")
	s.op("CMPQ R14, 8(SP)")
	s.op("JNE copy")
}

// amxBlocks writes the rest of the blocks of a panel.
func amxBlocks(s *source, a *amxA, name string) {
	s.label(name)
	amxBlock(s, a, nil, nil)
	s.op("DECQ CX")
	s.op("JNZ %s", name)
}

// amxPeak writes the register-only loop: four accumulators, of tiles that are zero.
func amxPeak(s *source) {
	s.function("peakAMX", "n int", 0, "4 independent TDPBF16PS a turn, n turns.")
	s.load("n", "CX")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	for tile := range 8 {
		s.zeroTile(tile)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.label("loop")
	for tile := range 4 {
		s.dotTile(tile, heldA, heldB)
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.releaseTiles()
	s.ret()
}
