package main

import "fmt"

// The kernel for a Sweep: products with few rows of A, for which what counts is how fast B comes from memory and is
// packed. A pair of rows of a piece is two lines of each; to pack it takes four loads, four VPERMT2W and four stores,
// which run beside the products of the piece before. Rows that lie pages apart are no stream that a processor would
// prefetch, and prefetches of them only take the place of loads, of which there are as many under way as the cache
// has line buffers for. Tiles of C come from the second cache, so these are prefetched, two panels of A ahead.
const (
	sweepRows  = 64          // of K
	sweepPanel = 32 * 64 * 2 // bytes of a panel of B of a piece
	sweepPiece = 2 * sweepPanel
)

func writeAMXSweep(s *source) {
	amxSweep(s)
	s.tiles()
	s.words("interleave", interleave())
}

// amxSweep writes the kernel.
//
//	BX panels of A left   CX pairs to pack beside a block   DX A   DI panel to pack   SI pair to pack
//	R8 B, packed   R9 stride   R10 C   R11 Sweep   R12 64   R13 pairs for each block   R14 pairs left   R15 128
//	(SP) the room after R8   8(SP) panels of A   16(SP) columns left   24(SP) C   32(SP) B
func amxSweep(s *source) {
	s.splitFunction("sweepAMX", "s *Sweep", 40, "Strips of 1 × 2 tiles, and beside them the next panels of B.")
	s.load("s", "R11")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("VMOVDQU64 ·interleave<>+0(SB), Z30")
	s.op("VMOVDQU64 ·interleave<>+64(SB), Z31")
	s.op("MOVQ $64, R12")
	s.op("MOVQ $128, R15")
	s.op("MOVQ Sweep_Stride(R11), R9")
	s.op("MOVQ Sweep_M(R11), BX")
	s.op("ADDQ $%d, BX", rowsOfTile-1)
	s.op("SHRQ $4, BX")
	s.op("MOVQ BX, 8(SP)")
	s.comment("A piece has 4 blocks for each panel of A, and 32 pairs.")
	s.op("MOVQ $1, R13")
	s.op("CMPQ BX, $8")
	s.op("JGE quota")
	s.op("XORL DX, DX")
	s.op("LEAQ 7(BX), AX")
	s.op("DIVQ BX")
	s.op("MOVQ AX, R13")
	s.label("quota")
	s.op("MOVQ Sweep_N(R11), AX")
	s.op("MOVQ AX, 16(SP)")
	s.op("MOVQ Sweep_Acc(R11), AX")
	s.op("MOVQ AX, 24(SP)")
	s.op("MOVQ Sweep_Room(R11), R8")
	s.op("LEAQ %d(R8), AX", sweepPiece)
	s.op("CMPQ Sweep_half(R11), $0")
	s.op("JEQ halves")
	s.op("XCHGQ AX, R8")
	s.label("halves")
	s.op("MOVQ AX, (SP)")
	s.op("MOVQ Sweep_B(R11), SI")
	s.op("MOVQ SI, 32(SP)")
	s.op("CMPB Sweep_ready(R11), $0")
	s.op("JNE piece")
	s.op("MOVQ R8, DI")
	s.op("MOVQ $%d, CX", sweepRows/2)
	s.label("firstPair")
	sweepPair(s)
	s.op("DECQ CX")
	s.op("JNZ firstPair")

	s.label("piece")
	s.op("MOVQ $%d, R14", sweepRows/2)
	s.op("MOVQ (SP), DI")
	s.op("SUBQ $64, 16(SP)")
	s.op("JZ lastPiece")
	s.op("ADDQ $128, 32(SP)")
	s.op("MOVQ 32(SP), SI")
	s.op("JMP start")
	s.label("lastPiece")
	s.op("MOVQ Sweep_Next(R11), SI")
	s.op("TESTQ SI, SI")
	s.op("CMOVQEQ SI, R14")
	s.label("start")
	for panel := range 2 {
		name := func(what string) string { return fmt.Sprint(what, panel) }
		s.op("MOVQ Sweep_A(R11), DX")
		s.op("MOVQ 24(SP), R10")
		s.op("MOVQ 8(SP), BX")
		s.label(name("panel"))
		sweepTiles(s, name("panel"), panel)
		s.op("ADDQ $%d, DX", sweepRows/32*tileBytes)
		s.op("ADDQ $%d, R10", 2*tileBytes)
		s.op("DECQ BX")
		s.op("JNZ %s", name("panel"))
		s.op("MOVQ Sweep_Strip(R11), AX")
		s.op("ADDQ AX, 24(SP)")
	}
	s.op("TESTQ R14, R14")
	s.op("JZ packed")
	s.label("pair")
	sweepPair(s)
	s.op("DECQ R14")
	s.op("JNZ pair")
	s.label("packed")
	s.op("MOVQ (SP), AX")
	s.op("MOVQ R8, (SP)")
	s.op("MOVQ AX, R8")
	s.op("CMPQ 16(SP), $0")
	s.op("JNE piece")

	s.op("SUBQ Sweep_Room(R11), R8")
	s.op("MOVQ R8, Sweep_half(R11)")
	s.op("CMPQ Sweep_Next(R11), $0")
	s.op("SETNE Sweep_ready(R11)")
	s.releaseTiles()
	s.ret()
}

// sweepPair packs a pair of rows of a piece, from SI to DI and the panel after it.
func sweepPair(s *source) {
	for half := range 2 {
		low, high, right := 3*half, 3*half+1, 3*half+2
		s.op("VMOVDQU64 %d(SI), Z%d", 64*half, low)
		s.op("VMOVDQU64 %d(SI)(R9*1), Z%d", 64*half, high)
		s.interleave(low, high, right)
		s.op("VMOVDQU64 Z%d, %d(DI)", low, half*sweepPanel)
		s.op("VMOVDQU64 Z%d, %d(DI)", right, half*sweepPanel+64)
	}
	s.op("LEAQ (SI)(R9*2), SI")
	s.op("ADDQ $128, DI")
}

// sweepTiles writes the products of a panel of A and a panel of B. A tile of C is loaded before its first product and
// stored after its last.
func sweepTiles(s *source, name string, panel int) {
	const blocks = sweepRows / 32
	c := func(j int) memory { return memory{"R10", "R15", 1, 64 * j} }
	s.op("CMPB Sweep_First(R11), $0")
	s.op("JNE %sZero", name)
	for j := range 2 {
		s.tile(tileLoad, j, c(j))
	}
	s.op("JMP %sLoaded", name)
	s.label(name + "Zero")
	for j := range 2 {
		s.zeroTile(j)
	}
	s.label(name + "Loaded")
	for block := range blocks {
		amxLoads(s, tileLoad,
			memory{"DX", "R12", 1, block * tileBytes}, memory{"R8", "R15", 1, panel*sweepPanel + block*blockBytes})
		for j := range 2 {
			amxProduct(s, j)
			if block == blocks-1 {
				s.tile(tileStore, j, c(j))
			}
			for line := range 8 {
				s.op("PREFETCHT0 %d(R10)", 4*tileBytes+64*((block*2+j)*8+line))
			}
			if j > 0 {
				continue
			}
			s.op("MOVQ R13, CX")
			s.op("CMPQ R14, CX")
			s.op("CMOVQLT R14, CX")
			s.op("SUBQ CX, R14")
			s.op("TESTQ CX, CX")
			s.op("JZ %sPacked%d", name, block)
			s.label(fmt.Sprintf("%sPack%d", name, block))
			sweepPair(s)
			s.op("DECQ CX")
			s.op("JNZ %sPack%d", name, block)
			s.label(fmt.Sprintf("%sPacked%d", name, block))
		}
	}
}
