package main

// The AMX kernel. A tile is 16 rows of 64 bytes; TDPBF16PS adds to 16 × 16 float32 the product of 16 rows of A, 32 bf16
// each, by 16 words of K of 16 columns of B. Four tile registers hold C,
//
//	                        columns of B
//	                       0-15    16-31
//	                     ┌───────┬───────┐
//	A in 4, rows 0-15    │  C 0  │  C 1  │
//	                     ├───────┼───────┤
//	A in 4, rows 16-31   │  C 2  │  C 3  │
//	                     └───────┴───────┘
//
// one more A, and one B. A block of K, 16 words, is five loads and four products, in the order of C 0, 1, 3, 2: the first half of
// B is loaded twice. With two registers for A and two for B four loads would do, but on an Emerald Rapids whose core has another
// thread to run a product takes 40 to 50 cycles rather than 16 once all eight tiles hold something, and about 16 while six do.
// B is read again for every panel of A, so it is to stay in the first cache. A, of which every byte is read once, is loaded by
// TILELOADDT1, a hint not to keep it there; B is prefetched into it, two blocks ahead, while the first panel of A is multiplied.
//
// The products of a panel of A take about 1,000 cycles; to store its tiles of C and to load the next took 500 more. So both
// are mixed with the first block of the next panel: each tile is stored, loaded and added to before the next one is stored.
// Meanwhile the processor never has more than sixteen stores waiting for a product. What is loaded is in the first cache by
// then: the first blocks of the panel before prefetch it.
//
// To rows that are not whole lines of the cache, where a tile is stored slowly, past the caches, and to a C of bf16 the tiles go
// by way of the stack, four rows in each of the first blocks of the next panel.
// A prefetch may go beyond the end of an operand: it reads nothing that a program could notice.
const (
	tileBytes  = 16 * 64
	blockBytes = 2 * tileBytes // of a panel, A or B, in a block of K

	blocksAhead = 2      // for the prefetch of B
	rowsOfC     = 4      // to prefetch, and to copy, in a block
	rowBytes    = 2 * 64 // of the four tiles

	// The frame of a strip kernel: 64 bytes of variables, then memory for four tiles, aligned to 64 bytes.
	amxFrame = 64 + 64 + 4*tileBytes
)

// The tile registers that hold a tile of A and one of B.
const (
	heldA = 4
	heldB = 5
)

func tileC(i, j int) int { return 2*i + j }

// A sideA is how a kernel finds A: in panels, or in rows where they lie.
type sideA struct {
	tiles [2]memory // of a block
	next  func(s *source)
	panel func(s *source) // moves on to the next panel
}

var (
	// SI block
	panelsOfA = sideA{
		tiles: [2]memory{{"SI", "R12", 1, 0}, {"SI", "R12", 1, tileBytes}},
		next:  func(s *source) { s.op("ADDQ $%d, SI", blockBytes) },
		panel: func(s *source) {},
	}
	// SI row 0   R9 row 16   DX pitch   8(SP) row 0 of the next panel
	rowsOfA = sideA{
		tiles: [2]memory{{"SI", "DX", 1, 0}, {"R9", "DX", 1, 0}},
		next: func(s *source) {
			s.op("ADDQ $64, SI")
			s.op("ADDQ $64, R9")
		},
		panel: func(s *source) {
			s.op("MOVQ 8(SP), SI")
			s.op("MOVQ DX, CX")
			s.op("SHLQ $4, CX")
			s.op("LEAQ (SI)(CX*1), R9")
			s.op("LEAQ (SI)(CX*2), CX")
			s.op("MOVQ CX, 8(SP)")
		},
	}
)

// load writes the load of tile i of a block of A.
func (a *sideA) load(s *source, i int) { s.tile(tileLoadT1, heldA, a.tiles[i]) }

// loadB writes the load of tile j of the block of B at DI, whose rows are those of both tiles, side by side.
func loadB(s *source, j int) {
	s.tile(tileLoad, heldB, memory{"DI", "R12", 2, j * 64})
}

// product writes the product of tile i of A and tile j of B, which are loaded.
func product(s *source, i, j int) { s.dotTile(tileC(i, j), heldA, heldB) }

// amxBlock writes one block of K, before each of its products what first writes, and after each of its five steps what
// between writes, unless they are nil.
func amxBlock(s *source, a *sideA, first func(tile int), between func(step int)) {
	multiply := func(i, j int) {
		if first != nil {
			first(tileC(i, j))
		}
		product(s, i, j)
	}
	for i, step := range []func(){
		func() { loadB(s, 0); a.load(s, 0) },
		func() { multiply(0, 0); loadB(s, 1) },
		func() { multiply(0, 1); a.load(s, 1) },
		func() { multiply(1, 1); loadB(s, 0) },
		func() { multiply(1, 0) },
	} {
		step()
		if between != nil {
			between(i)
		}
	}
	a.next(s)
	s.op("ADDQ $%d, DI", blockBytes)
}

// prefetchB writes the prefetch of a fifth of the lines of a block of B.
func prefetchB(s *source) func(step int) {
	line := 0
	return func(step int) {
		for ; line < blockBytes/64*(step+1)/5; line++ {
			s.op("PREFETCHT0 %d(DI)", blocksAhead*blockBytes+64*line)
		}
	}
}

// prefetchC writes the prefetch of some rows of C: of the last byte of each line's worth, as in copy.
func prefetchC(s *source) {
	for range rowsOfC {
		s.op("PREFETCHT0 63(AX)")
		s.op("PREFETCHT0 127(AX)")
		s.op("ADDQ (SP), AX")
	}
}

// amxMul writes a strip kernel; see KernelFunc for its contract, and Kernel.MulPast and Kernel.MulRound for those of the others.
func amxMul(s *source, name string, c *sideC, doc string) {
	s.splitFunction(name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int", amxFrame, "2 × 2 tiles"+doc+".")
	amxStrip(s, &panelsOfA, c)
}

// amxRows writes a kernel that reads A in rows; see RowsFunc and Kernel.RowsRound.
func amxRows(s *source, name string, c *sideC, doc string) {
	s.splitFunction(name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int", amxFrame, "2 × 2 tiles, A in rows"+doc+".")
	s.load(8, "lda", "DX")
	s.op("MOVQ a+16(FP), AX")
	s.op("MOVQ AX, 8(SP)")
	amxStrip(s, &rowsOfA, c)
}

// amxStrip writes the rest of a strip kernel. The tile registers belong to the thread, so they are configured and released
// within the call.
//
//	BX panels of A left   CX blocks left   SI A   DI B   R8 src of the next panel   R10 dst   R11 ldd   R12 64   R13 32·ldd
//	R14 row to copy   R15 memory of the kernel's own, for four tiles   AX row of C to prefetch   (SP) their pitch
//	16(SP) the end of the rows to copy
func amxStrip(s *source, a *sideA, c *sideC) {
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8")
	s.load(6, "dst", "R10", "ldd", "R11")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("MOVQ $64, R12")
	s.op("MOVQ R11, R13")
	s.op("SHLQ $5, R13")
	s.op("LEAQ 127(SP), R15")
	s.op("ANDQ $-64, R15")
	s.op("LEAQ %d(R15), R14", 4*tileBytes)
	s.op("MOVQ R14, 16(SP)")

	s.label("first")
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	for tile := range 4 {
		loadC(s, tile, tile%2 == 0)
	}
	s.op("CMPQ BX, $1")
	s.op("JEQ loaded")
	s.op("MOVQ R8, AX")
	s.op("MOVQ lds+40(FP), CX")
	s.op("JMP start")
	s.label("zero")
	for tile := range 4 {
		s.zeroTile(tile)
	}
	s.label("loaded")
	s.op("MOVQ %s, AX", c.soon())
	if c.past {
		s.op("XORL CX, CX")
	} else {
		s.op("MOVQ R11, CX")
	}
	s.label("start")
	s.op("MOVQ CX, (SP)")
	a.panel(s)
	s.op("MOVQ b+24(FP), DI")
	s.op("MOVQ k+0(FP), CX")
	s.op("SHRQ $4, CX")
	s.op("JZ last")
	s.label("block")
	amxBlock(s, a, nil, prefetchB(s))
	prefetchC(s)
	s.op("DECQ CX")
	s.op("JNZ block")

	s.label("next")
	s.op("CMPQ BX, $1")
	s.op("JEQ last")
	s.comment("The first block of another panel, and the tiles of C in turn.")
	a.panel(s)
	s.op("MOVQ b+24(FP), DI")
	s.op("MOVQ R15, R14")
	s.op("MOVQ $%d, CX", rowBytes)
	if !c.always() {
		wholeLines(s)
		s.op("CMOVQEQ R10, R14")
		s.op("CMOVQEQ R11, CX")
	}
	swap := func(load func(tile int)) {
		amxBlock(s, a, func(tile int) {
			s.tile(tileStore, tile, memory{"R14", "CX", 1, tile % 2 * 64})
			load(tile)
			if tile == 1 {
				s.op("MOVQ CX, AX")
				s.op("SHLQ $4, AX")
				s.op("ADDQ AX, R14")
			}
		}, nil)
	}
	s.op("TESTQ R8, R8")
	s.op("JZ fresh")
	left := false // whether a tile is the first that is loaded of its rows
	swap(func(tile int) {
		left = !left
		loadC(s, tile, left)
	})
	s.op("JMP swapped")
	s.label("fresh")
	swap(s.zeroTile)
	s.label("swapped")
	s.op("DECQ BX")
	s.op("MOVQ k+0(FP), CX")
	s.op("SHRQ $4, CX")
	s.op("MOVQ R15, R14")
	if !c.always() {
		wholeLines(s)
		s.op("JZ inPlace")
	}

	c.nextC(s)
	s.op("DECQ CX")
	s.op("JZ rest")
	s.label("copies")
	amxBlock(s, a, nil, nil)
	prefetchC(s)
	c.copy(s)
	s.op("DECQ CX")
	s.op("JZ rest")
	s.op("CMPQ R14, 16(SP)")
	s.op("JNE copies")
	amxBlocks(s, a, "alone")
	s.op("JMP next")
	s.label("rest")
	s.op("CMPQ R14, 16(SP)")
	s.op("JEQ next")
	c.copy(s)
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
		s.op("CMPQ R14, 16(SP)")
		s.op("JNE prefetches")
		amxBlocks(s, a, "inPlaceAlone")
		s.op("JMP next")
	}

	s.label("last")
	if !c.always() {
		wholeLines(s)
		s.op("JNZ split")
		s.op("MOVQ R11, AX")
		s.op("SHLQ $4, AX")
		s.op("ADDQ R10, AX")
		for tile := range 4 {
			s.tile(tileStore, tile, memory{[]string{"R10", "AX"}[tile/2], "R11", 1, 64 * (tile % 2)})
		}
		s.op("ADDQ R13, R10")
		s.op("JMP stored")
		s.label("split")
	}
	for tile, m := range stacked() {
		s.tile(tileStore, tile, m)
	}
	s.op("MOVQ R15, R14")
	s.op("MOVQ $%d, CX", 32/rowsOfC)
	s.label("copy")
	c.copy(s)
	s.op("DECQ CX")
	s.op("JNZ copy")
	s.label("stored")
	s.comment("Where K is empty, every panel comes here.")
	s.op("DECQ BX")
	s.op("JNZ first")
	if c.past {
		s.op("SFENCE")
	}
	s.releaseTiles()
	s.ret()
}

// amxBlocks writes the rest of the blocks of a panel.
func amxBlocks(s *source, a *sideA, name string) {
	s.label(name)
	amxBlock(s, a, nil, nil)
	s.op("DECQ CX")
	s.op("JNZ %s", name)
}

// loadC writes the load of a tile of C from R8, of the rows there, of which it is the first tile or the second that is loaded. It
// changes AX.
func loadC(s *source, tile int, first bool) {
	if first {
		s.op("MOVQ lds+40(FP), AX")
	}
	s.tile(tileLoad, tile, memory{"R8", "AX", 1, 64 * (tile % 2)})
	if !first {
		s.op("SHLQ $4, AX")
		s.op("ADDQ AX, R8")
	}
}

// wholeLines writes the test, for zero, whether the rows of dst are whole lines of the cache. It changes AX.
func wholeLines(s *source) {
	s.op("MOVQ R10, AX")
	s.op("ORQ R11, AX")
	s.op("TESTQ $63, AX")
}

// amxPeak writes the register-only loop: four accumulators, which hide the latency of 52 cycles at 16 cycles each.
func amxPeak(s *source) {
	s.function("peakAMX", "n int", 0, "4 independent TDPBF16PS a turn, n turns.")
	s.load(0, "n", "CX")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	for tile := range 8 {
		s.zeroTile(tile)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.label("loop")
	for i := range 2 {
		for j := range 2 {
			product(s, i, j)
		}
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.releaseTiles()
	s.ret()
}

// tiles writes the configuration of the tile registers, palette 1: all eight have 16 rows of 64 bytes.
func (s *source) tiles() {
	config := make([]uint16, 32)
	config[0] = 1
	for tile := range 8 {
		config[8+tile] = 64            // bytes of a row
		config[24+tile/2] = 16<<8 | 16 // rows, in bytes
	}
	s.words("tiles", config)
}

// amx returns the file of the AMX kernel and the packers of its A.
func amx() []byte {
	var s source
	s.WriteString(header)
	s.WriteString("#include \"go_asm.h\"\n")
	amxMul(&s, "mulAMX", &toCache, "")
	amxRows(&s, "rowsAMX", &toCache, "")
	amxMul(&s, "pastAMX", &toMemory, ", stored past the caches")
	amxMul(&s, "roundAMX", &shortCache, ", rounded to bf16")
	amxMul(&s, "roundPastAMX", &shortMemory, ", rounded to bf16, stored past the caches")
	amxRows(&s, "roundRowsAMX", &shortCache, ", rounded to bf16")
	amxRows(&s, "rowsPastAMX", &toMemory, ", stored past the caches")
	amxRows(&s, "roundRowsPastAMX", &shortMemory, ", rounded to bf16, stored past the caches")
	amxSweep(&s)
	amxPeak(&s)
	packLines(&s)
	packWide(&s, 4)
	packWide(&s, 8)
	packPairs16(&s)
	s.tiles()
	s.words("interleave", interleave())
	return s.Bytes()
}
