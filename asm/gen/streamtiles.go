package main

import "fmt"

// The stream kernels for tiles multiply as AMX does, which is faster at many rows of A but not at reading B.

// mxcsrTiles is the MXCSR in whose way TDPBF16PS computes: subnormal operands (bit 6) and results (bit 15) are zeros,
// each step rounds to nearest even, and exceptions (bits 7 to 12) are masked.
const mxcsrTiles = 1<<15 | 0x3f<<7 | 1<<6

// The stream kernels for tiles: across and along K, and for panels, of few rows of A, as AMX itself is faster at more.
var (
	tilesAcross = streamTable{{forms: []form{bf16}, rows: streamRows, most: 4, all: 16, far: near}}
	tilesAlong  = streamTable{{forms: []form{pairs}, rows: streamRows, most: 2, all: 4, far: near}}
	tilesPanels = streamTable{{forms: []form{bf16}, rows: streamFew, most: 2, all: 8, far: near}}
)

func writeStreamsTiles(s *source) {
	tilesAcross.write(func(k stream) { k.tilesAcross(s) })
	tilesPanels.write(func(k stream) { k.tilesPanels(s) })
	tilesAlong.write(func(k stream) { k.tilesAlong(s) })
}

// Where a kernel for tiles keeps, in the room of its block, the even and then the odd elements of A, a line of each
// for every row, and the sums: for rows of K those of the odd elements, and for rows along K the accumulators.
const (
	tileLine = 64
	tileSums = 2 * 8 * tileLine
	tileStep = 32   // elements of K in a tile
	tileA    = 1024 // bytes of a panel of A from one tile to the next
)

// tilesAcross writes the kernel for rows of K, of which it takes one tile or less. The sums of the odd elements and
// those of the even ones are apart until the end, so it goes through the odd rows of B and then through the even ones.
//
//	DI streamCall   R8 offset in a row of accumulators   R9 stride   R10 block of B   R11 elements of K
//	BX columns left   SI row of B   DX A   CX rows of B left   R13 what is prefetched, seen from SI   R14 room
//	Z0-Z15 accumulators   Z16-Z19 B   Z24-Z27 A   Z29 zero   K1-K4 columns   K7 odd elements
//	0(SP) the caller's MXCSR   4(SP) that of the kernel
func (k stream) tilesAcross(s *source) {
	columns := 16 * k.vecs
	mask := func(v int) string { return fmt.Sprintf("K%d", 1+v) }
	k.tileStart(s, "Across", columns)
	k.acrossFields(s)
	s.op("VPXORD Z29, Z29, Z29")
	s.slot(0, "a", 0, "DX")
	k.widenTile(s, "DX")
	for v := range k.vecs {
		s.op("KXNORQ %s, %s, %s", mask(v), mask(v), mask(v))
	}

	k.maskBlock(s, false)
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
	k.acrossNext(s, columns)
	s.op("JG block")
	k.tileEnd(s)
}

// tileStart opens a kernel for tiles: it sets MXCSR, R14 to the room, and K7 to the odd elements.
func (k stream) tileStart(s *source, what string, columns int) {
	s.function(fmt.Sprintf("stream%s512Tilesx%d", what, k.rows), "c *streamCall", 8,
		fmt.Sprintf("%d rows of A by %d columns.", k.rows, columns))
	s.asTiles(0)
	s.load("c", "DI")
	s.op("LEAQ (streamCall_room+%d)(DI), R14", tileLine-1)
	s.op("ANDQ $-%d, R14", tileLine)
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

// padTile makes of a tile that is not whole one with zeros at its end. All that zeros do is to make +0 of -0, which
// is what a negative subnormal has become. The odd elements always lack one, and when their sum is not -0, whether
// that of the even ones is makes no difference to both together.
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

// Registers of tilesPanels.
const (
	storedOdd  = 8   // the first sum of odd elements, after those of even ones
	storedAcc  = 16  // the first accumulator
	storedB    = 24  // the even elements of a word, then the odd ones
	storedA    = 28  // a word of A, by turns
	storedStep = 128 // bytes of a word of K of a panel
)

// tilesPanels writes the kernel for a panel, k words deep, which is a whole number of tiles. Both sums and the
// accumulators are in registers, so it goes through the words of B once.
//
//	DI streamCall   R14 room   SI B   R11 what is prefetched   DX A   CX words left, of a tile AX
//	R8 word of A in the room   K7 odd elements
//	Z0-Z7 sums of even elements   Z8-Z15 of odd ones   Z16-Z23 accumulators   Z24-Z27 B   Z28-Z31 A
//	0(SP) the caller's MXCSR   4(SP) that of the kernel
func (k stream) tilesPanels(s *source) {
	vecs := k.vecs
	n := k.rows * vecs
	k.tileStart(s, "Panels", 16*vecs)
	s.fields("streamCall", "DI", "b", "SI", "k", "CX")
	s.slot(0, "a", 0, "DX")
	k.aimAhead(s)
	addr := func(v int) string { return fmt.Sprintf("%d(AX)", tileLine*v) }
	k.accumulators(s, 0, storedAcc, vecs, addr, nil)
	s.label("tile")
	k.widenTile(s, "DX")
	for z := range n {
		k.kernel().zero(s, z)
		k.kernel().zero(s, storedOdd+z)
	}
	s.op("MOVQ R14, R8")
	s.op("MOVQ $%d, AX", tileStep/2)
	s.label("loop")
	for v := range vecs {
		even, odd := storedB+v, storedB+vecs+v
		s.op("VMOVDQU32 %d(SI), Z%d", tileLine*v, even)
		s.op("VMOVDQU16.Z Z%d, K7, Z%d", even, odd)
		s.op("VPSLLD $16, Z%d, Z%d", even, even)
		s.op("PREFETCHT0 %d(R11)", tileLine*v)
	}
	for i := range 2 * k.rows {
		half, row := i/k.rows, i%k.rows
		a := storedA + i%4
		s.op("VBROADCASTSS %d(R8), Z%d", tileLine*i, a)
		for v := range vecs {
			s.op("VFMADD231PS Z%d, Z%d, Z%d", a, storedB+vecs*half+v, storedOdd*half+row*vecs+v)
		}
	}
	s.op("ADDQ $%d, SI", storedStep)
	s.op("ADDQ $%d, R11", storedStep)
	s.op("ADDQ $4, R8")
	s.op("DECQ AX")
	s.op("JNZ loop")
	for z := range n {
		s.op("VADDPS Z%d, Z%d, Z%d", storedOdd+z, z, z)
		s.op("VADDPS Z%d, Z%d, Z%d", storedAcc+z, z, storedAcc+z)
	}
	s.op("ADDQ $%d, DX", tileA)
	s.op("SUBQ $%d, CX", tileStep/2)
	s.op("JNZ tile")
	s.op("LDMXCSR 0(SP)")
	k.addSource(s, 0, storedAcc, vecs, addr)
	k.store(s, 0, storedAcc, vecs, addr, nil)
	k.tileEnd(s)
}

// Registers of tilesAlong.
const (
	alongOdd  = 16 // the first sum of odd elements
	alongTmp  = 24
	alongLast = 32 // after the last sum of even elements
)

// tilesAlong writes the kernel for rows along K, of which a tile takes a line. vecs is the number of slots.
//
// The sums of a tile are independent of those before, so it takes no second slot to have enough of them. GB/s of 128
// MB on Zen 5 with one and with two slots: one row of A 31 and 32, four 32 and 27, eight 19 and 16.
//
//	DI streamCall   R14 room   and the registers of the slots   K7 odd elements
//	0(SP) the caller's MXCSR   4(SP) that of the kernel
func (k stream) tilesAlong(s *source) {
	first := alongLast - k.rows
	addr := func(int) string { return "(AX)" }
	k.tileStart(s, "Along", 16*k.vecs)
	for g := range k.vecs {
		s.startSlot(g)
	}
	s.label("start")
	for g := range k.vecs {
		k.accumulators(s, g, first, 1, addr, nil)
		for i := range k.rows {
			s.op("VMOVAPS Z%d, %s", first+i, k.sum(g, i))
		}
	}
	s.startSums()
	s.label("loop")
	for g := range k.vecs {
		k.slotTiles(s, g)
		s.nextA(g, tileA)
		s.nextB(g, tileLine)
	}
	s.endBlock()
	s.op("LDMXCSR 0(SP)")
	for g := range k.vecs {
		for i := range k.rows {
			s.op("VMOVAPS %s, Z%d", k.sum(g, i), g*k.rows+i)
		}
		k.addSource(s, g, g*k.rows, 1, addr)
	}
	for g := k.vecs - 1; g >= 0; g-- {
		k.store(s, g, g*k.rows, 1, addr, nil)
		s.begun(g, k.rows)
	}
	s.op("LDMXCSR 4(SP)")
	s.op("CMPQ streamCall_k(DI), $0")
	s.op("JNE start")
	for g := range k.vecs {
		s.endSlot(g)
	}
	k.tileEnd(s)
}

// sum returns where the accumulators of row i of a slot are.
func (k stream) sum(slot, i int) string {
	return fmt.Sprintf("%d(R14)", tileSums+tileLine*(slot*k.rows+i))
}

// slotTiles multiplies a block of a slot. Eight rows leave no register for the sums of the even elements before those
// of the odd ones are done.
//
//	Z0-Z15 B   Z16-Z23 under way, then sums of odd elements   Z24-Z26 under way   Z24-Z31 sums of even elements
func (k stream) slotTiles(s *source, slot int) {
	first := alongLast - k.rows
	apart := first < alongTmp+3
	half := func(b, sums, line int) {
		for i := range k.rows {
			s.op("VFMADD231PS.BCST %d(R14), Z%d, Z%d", line+tileLine*i, b, sums+i)
		}
	}
	even := func(w int) {
		s.op("VPSLLD $16, Z%d, Z%d", w, w)
		half(w, first, 4*w)
	}
	zero := func(sums int) {
		for i := range k.rows {
			k.kernel().zero(s, sums+i)
		}
	}
	k.widenTile(s, slotRegs[slot].a)
	k.lanes(s, slot)
	zero(alongOdd)
	if !apart {
		zero(first)
	}
	for l := range 4 {
		k.kernel().quad(s, 4*l, alongTmp, byWords)
		for w := 4 * l; w < 4*l+4; w++ {
			s.slot(slot, "rows", w, "AX")
			s.op("PREFETCHT0 (AX)(%s*1)", slotRegs[slot].fetch)
			s.op("VMOVDQU16.Z Z%d, K7, Z%d", w, alongTmp+2)
			half(alongTmp+2, alongOdd, tileLine*k.rows+4*w)
			if !apart {
				even(w)
			}
		}
	}
	if apart {
		zero(first)
		for w := range 16 {
			even(w)
		}
	}
	for i := range k.rows {
		s.op("VADDPS Z%d, Z%d, Z%d", alongOdd+i, first+i, first+i)
		s.op("VADDPS %s, Z%d, Z%d", k.sum(slot, i), first+i, first+i)
		s.op("VMOVAPS Z%d, %s", first+i, k.sum(slot, i))
	}
}
