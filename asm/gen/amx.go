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
// are prefetched all along. A prefetch may go beyond the end of an operand: it reads nothing that a program could notice.
const (
	tileBytes  = 16 * 64
	blockBytes = 2 * tileBytes // of a panel, A or B, in a block of K

	blocksAhead = 2 // for the prefetch of B
	rowsOfC     = 4 // to prefetch in a block
)

func tileC(i, j int) int { return 2*i + j }

// loadA writes the load of tile i of the block of A at SI.
func loadA(s *source, i int) {
	s.tile(tileLoadT1, 4+i, memory{"SI", "R12", 1, i * tileBytes})
}

// loadB writes the load of tile j of the block of B at DI, whose rows are those of both tiles, side by side.
func loadB(s *source, j int) {
	s.tile(tileLoad, 6+j, memory{"DI", "R12", 2, j * 64})
}

// product writes the product of tile i of A and tile j of B.
func product(s *source, i, j int) { s.dotTile(tileC(i, j), 4+i, 6+j) }

// amxDepth writes the loop over K: CX blocks, at least one. first says that this is the first time that B is read.
func amxDepth(s *source, name string, first bool) {
	steps := []func(){
		func() { loadB(s, 0); loadA(s, 0) },
		func() { product(s, 0, 0); loadB(s, 1) },
		func() { product(s, 0, 1); loadA(s, 1) },
		func() { product(s, 1, 0) },
		func() { product(s, 1, 1) },
	}
	s.label(name)
	next := 0 // byte of the block of B to prefetch
	for i, step := range steps {
		step()
		for end := blockBytes / 64 * (i + 1) / len(steps) * 64; first && next < end; next += 64 {
			s.op("PREFETCHT0 %d(DI)", blocksAhead*blockBytes+next)
		}
	}
	for range rowsOfC {
		s.op("PREFETCHT0 (AX)")
		s.op("PREFETCHT0 64(AX)")
		s.op("ADDQ R13, AX")
	}
	s.op("CMPQ AX, (SP)")
	s.op("CMOVQEQ 8(SP), AX")
	s.op("ADDQ $%d, SI", blockBytes)
	s.op("ADDQ $%d, DI", blockBytes)
	s.op("DECQ CX")
	s.op("JZ store")
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
//
// The tile registers belong to the thread, so they are configured and released within the call.
//
//	BX panels of A left   CX blocks left   SI A   DI B   R8 src   R9 lds   R10 dst   R11 ldd   R12 64
//	AX row of C to prefetch   R13 their pitch   8(SP) the first of them   (SP) their end
func amxMul(s *source) {
	s.function("mulAMX", "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int", 16, "2 × 2 tiles.")
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("MOVQ $64, R12")

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
	s.op("MOVQ R10, AX")
	s.op("MOVQ R11, R13")
	s.op("JMP start")

	s.label("zero")
	for tile := range 4 {
		s.zeroTile(tile)
	}
	s.op("MOVQ R10, AX")
	s.op("MOVQ R11, R13")

	s.label("start")
	s.op("MOVQ AX, 8(SP)")
	s.op("MOVQ R13, CX")
	s.op("SHLQ $5, CX")
	s.op("ADDQ AX, CX")
	s.op("MOVQ CX, (SP)")
	s.op("MOVQ k+0(FP), CX")
	s.op("SHRQ $4, CX")
	s.op("JZ store")
	s.op("CMPQ BX, m+8(FP)")
	s.op("JNE again")
	amxDepth(s, "first", true)
	amxDepth(s, "again", false)

	s.label("store")
	forC(s, "R10", "R11", func(tile int, m memory) { s.tile(tileStore, tile, m) })
	s.op("DECQ BX")
	s.op("JNZ tile")
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
	amxPeak(&s)
	packLines(&s)
	packPairs16(&s)
	s.tiles()
	return s.Bytes()
}
