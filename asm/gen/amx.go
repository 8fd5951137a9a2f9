package main

// The AMX kernel. A tile is 16 rows of 64 bytes; TDPBF16PS adds to 16 × 16 float32 the product of 16 rows of A, 32 bf16
// each, by 16 words of K of 16 columns of B. The tile registers hold
//
//	                   B 6     B 7
//	                 ┌───────┬───────┐
//	A 4, rows 0-15   │  C 0  │  C 1  │
//	                 ├───────┼───────┤
//	A 5, rows 16-31  │  C 2  │  C 3  │
//	                 └───────┴───────┘
//
// and a block of K, 16 words, is four loads and four products. B is read again for every panel of A, so it is to stay in the
// first cache. A, of which every byte is read once, is loaded by TILELOADDT1, a hint not to keep it there; B is prefetched into
// it, two blocks ahead, while the first panel of A is multiplied. The rows of C that come next, or those that will be stored,
// are prefetched all along, into the second cache: lines that are on their way from further off would take up the buffers through
// which A comes. A prefetch may go beyond the end of an operand: it reads nothing that a program could notice.
const (
	tileBytes  = 16 * 64
	blockBytes = 2 * tileBytes // of a panel, A or B, in a block of K

	blocksAhead = 2 // for the prefetch of B
	rowsOfC     = 4 // to prefetch in a block

	// The frame of a strip kernel: 64 bytes of variables, then memory for four tiles, aligned to 64 bytes.
	amxFrame = 64 + 64 + 4*tileBytes
)

func tileC(i, j int) int { return 2*i + j }

// A sideA is how a kernel finds A: in panels, or in rows where they lie.
type sideA struct {
	tiles [2]memory // of a block
	next  func(s *source)
}

var (
	// SI block
	panelsOfA = sideA{
		tiles: [2]memory{{"SI", "R12", 1, 0}, {"SI", "R12", 1, tileBytes}},
		next:  func(s *source) { s.op("ADDQ $%d, SI", blockBytes) },
	}
	// SI row 0   R14 row 16   DX pitch
	rowsOfA = sideA{
		tiles: [2]memory{{"SI", "DX", 1, 0}, {"R14", "DX", 1, 0}},
		next: func(s *source) {
			s.op("ADDQ $64, SI")
			s.op("ADDQ $64, R14")
		},
	}
)

// loadA writes the load of tile i of a block of A.
func (a *sideA) load(s *source, i int) { s.tile(tileLoadT1, 4+i, a.tiles[i]) }

// loadB writes the load of tile j of the block of B at DI, whose rows are those of both tiles, side by side.
func loadB(s *source, j int) {
	s.tile(tileLoad, 6+j, memory{"DI", "R12", 2, j * 64})
}

// product writes the product of tile i of A and tile j of B.
func product(s *source, i, j int) { s.dotTile(tileC(i, j), 4+i, 6+j) }

// amxBlock writes one block of K, and after each of its five steps what between writes, unless that is nil.
func amxBlock(s *source, a *sideA, between func(step int)) {
	for i, step := range []func(){
		func() { loadB(s, 0); a.load(s, 0) },
		func() { product(s, 0, 0); loadB(s, 1) },
		func() { product(s, 0, 1); a.load(s, 1) },
		func() { product(s, 1, 0) },
		func() { product(s, 1, 1) },
	} {
		step()
		if between != nil {
			between(i)
		}
	}
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

// amxDepth writes the loop over K: CX blocks, at least one. done is where it goes then.
func amxDepth(s *source, name string, a *sideA, first bool, done string) {
	s.label(name)
	if first {
		amxBlock(s, a, prefetchB(s))
	} else {
		amxBlock(s, a, nil)
	}
	for range rowsOfC {
		s.op("PREFETCHT1 (AX)")
		s.op("PREFETCHT1 64(AX)")
		s.op("ADDQ R13, AX")
	}
	s.op("CMPQ AX, (SP)")
	s.op("CMOVQEQ 8(SP), AX")
	a.next(s)
	s.op("ADDQ $%d, DI", blockBytes)
	s.op("DECQ CX")
	s.op("JZ %s", done)
	s.op("JMP %s", name)
}

// forC writes f for the four tiles of C at the address in register at, rows pitch apart, and moves at to those of the next
// panel of A. It changes R13.
func forC(s *source, at, pitch string, f func(tile int, m memory)) {
	s.op("MOVQ %s, R13", pitch)
	s.op("SHLQ $4, R13")
	for i := range 2 {
		for j := range 2 {
			f(tileC(i, j), memory{at, pitch, 1, 64 * j})
		}
		s.op("ADDQ R13, %s", at)
	}
}

// amxMul writes the strip kernel; see KernelFunc for its contract.
func amxMul(s *source) {
	s.splitFunction("mulAMX", "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int", amxFrame, "2 × 2 tiles.")
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	amxStrip(s, &toCache, amxPanels)
}

// amxPast writes the strip kernel that stores past the caches; see Kernel.MulPast.
func amxPast(s *source) {
	s.splitFunction("pastAMX", "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int", amxFrame, "2 × 2 tiles, stored past the caches.")
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	amxStrip(s, &toMemory, amxPanels)
}

// amxPanels writes the loops over K of a tile whose A is a panel.
func amxPanels(s *source) { amxLoops(s, &panelsOfA, "store") }

// amxLoops writes the loops over K: one for the first tile and one for those after. done is where they go then.
func amxLoops(s *source, a *sideA, done string) {
	s.op("MOVQ k+0(FP), CX")
	s.op("SHRQ $4, CX")
	s.op("JZ %s", done)
	s.op("CMPQ BX, m+8(FP)")
	s.op("JNE again")
	amxDepth(s, "first", a, true, done)
	amxDepth(s, "again", a, false, done)
}

// A sideC is how a kernel stores tiles: where what it stores first is to be prefetched, rows pitch apart, and the stores.
type sideC struct {
	at, pitch string
	store     func(s *source)
	end       func(s *source)
}

var (
	// A tile is stored slowly to rows that are not whole lines of the cache.
	toCache = sideC{
		at: "R10", pitch: "R11",
		store: func(s *source) {
			s.op("MOVQ R10, AX")
			s.op("ORQ R11, AX")
			s.op("TESTQ $63, AX")
			s.op("JNZ split")
			forC(s, "R10", "R11", func(tile int, m memory) { s.tile(tileStore, tile, m) })
			s.op("JMP stored")
			s.label("split")
			copyC(s, "VMOVDQU64")
			s.label("stored")
		},
		end: func(s *source) {},
	}
	toMemory = sideC{
		at: "R15", pitch: "$128",
		store: func(s *source) { copyC(s, "VMOVNTDQ") },
		end:   func(s *source) { s.op("SFENCE") },
	}
)

// copyC writes the store of C by way of the memory at R15, whose rows are as long as those of the panel. It moves R10 to the
// rows of the next panel of A, and changes AX and CX.
func copyC(s *source, move string) {
	for i := range 2 {
		for j := range 2 {
			s.tile(tileStore, tileC(i, j), memory{"R15", "R12", 2, i*2*tileBytes + 64*j})
		}
	}
	s.op("MOVQ R15, AX")
	s.op("MOVQ $16, CX")
	s.label("copy")
	for i := range 4 {
		s.op("VMOVDQU64 %d(AX), Z%d", 64*i, i)
	}
	s.op("%s Z0, (R10)", move)
	s.op("%s Z1, 64(R10)", move)
	s.op("%s Z2, (R10)(R11*1)", move)
	s.op("%s Z3, 64(R10)(R11*1)", move)
	s.op("ADDQ $256, AX")
	s.op("LEAQ (R10)(R11*2), R10")
	s.op("DECQ CX")
	s.op("JNZ copy")
}

// amxRows writes the kernel that reads A in rows; see RowsFunc.
//
//	SI, R14 rows 0 and 16 of the tile of A   DX their pitch   16(SP) row 0 of the next tile
func amxRows(s *source) {
	s.splitFunction("rowsAMX", "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int", amxFrame, "2 × 2 tiles, A in rows.")
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11", "lda", "DX")
	amxStrip(s, &toCache, func(s *source) {
		s.op("MOVQ DX, R14")
		s.op("SHLQ $4, R14")
		s.op("ADDQ SI, R14")
		s.op("MOVQ DX, CX")
		s.op("SHLQ $5, CX")
		s.op("ADDQ SI, CX")
		s.op("MOVQ CX, 16(SP)")
		amxLoops(s, &rowsOfA, "moved")
		s.label("moved")
		s.op("MOVQ 16(SP), SI")
	})
}

// amxStrip writes the rest of a strip kernel: what it does with the tiles of C. depth adds the products, and may jump to store.
// Memory of the kernel's own, for four tiles, starts at R15, which is aligned to 64 bytes.
//
// The tile registers belong to the thread, so they are configured and released within the call.
//
//	BX panels of A left   CX blocks left   SI A   DI B   R8 src   R9 lds   R10 dst   R11 ldd   R12 64
//	AX row of C to prefetch   R13 their pitch   8(SP) the first of them   (SP) their end
func amxStrip(s *source, c *sideC, depth func(s *source)) {
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("MOVQ $64, R12")
	s.op("LEAQ 127(SP), R15")
	s.op("ANDQ $-64, R15")

	s.label("tile")
	s.op("MOVQ b+24(FP), DI")
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	forC(s, "R8", "R9", func(tile int, m memory) { s.tile(tileLoad, tile, m) })
	s.comment("The next tile of src, and for the last tile that of dst.")
	s.op("MOVQ R8, AX")
	s.op("MOVQ R9, R13")
	s.op("CMPQ BX, $1")
	s.op("JNE start")
	s.op("MOVQ %s, AX", c.at)
	s.op("MOVQ %s, R13", c.pitch)
	s.op("JMP start")

	s.label("zero")
	for tile := range 4 {
		s.zeroTile(tile)
	}
	s.op("MOVQ %s, AX", c.at)
	s.op("MOVQ %s, R13", c.pitch)

	s.label("start")
	s.op("MOVQ AX, 8(SP)")
	s.op("MOVQ R13, CX")
	s.op("SHLQ $5, CX")
	s.op("ADDQ AX, CX")
	s.op("MOVQ CX, (SP)")
	depth(s)

	s.label("store")
	c.store(s)
	s.op("DECQ BX")
	s.op("JNZ tile")
	c.end(s)
	s.releaseTiles()
	s.ret()
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
	amxMul(&s)
	amxRows(&s)
	amxPast(&s)
	amxPeak(&s)
	packLines(&s)
	packWide(&s)
	packPairs16(&s)
	s.tiles()
	s.words("interleave", interleave())
	return s.Bytes()
}
