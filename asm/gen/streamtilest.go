package main

import "fmt"

// Registers of tilesAlong.
const (
	alongOdd  = 16 // the first sum of odd elements
	alongTmp  = 24
	alongLast = 32 // after the last sum of even elements
)

// tilesAlong writes the kernel for rows along K, of which a tile takes a line. vecs is the number of slots.
//
// The sums of a tile are independent of those before, so it takes no second slot to have enough of them. GB/s of 128 MB on Zen 5
// with one and with two slots: one row of A 31 and 32, four 32 and 27, eight 19 and 16.
//
//	DI streamBlock   R14 room   and the registers of the slots   K7 odd elements
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
	s.op("CMPQ streamBlock_k(DI), $0")
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

// slotTiles multiplies a block of a slot. Eight rows leave no register for the sums of the even elements before those of the odd
// ones are done.
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
		quad(s, k.kernel().reg, 4*l, alongTmp, byWords)
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
