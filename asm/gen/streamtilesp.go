package main

import "fmt"

// Registers of tilesStored.
const (
	storedOdd  = 8   // the first sum of odd elements, after those of even ones
	storedAcc  = 16  // the first accumulator
	storedB    = 24  // the even elements of a word, then the odd ones
	storedA    = 28  // a word of A, by turns
	storedStep = 128 // bytes of a word of K of a panel
)

// tilesStored writes the kernel for a panel, k words deep, which is a whole number of tiles. Both sums and the accumulators
// are in registers, so it goes through the words of B once.
//
//	DI streamBlock   R14 room   SI B   R11 what is prefetched   DX A   CX words left, of a tile AX   R8 word of A in the room   K7 odd elements
//	Z0-Z7 sums of even elements   Z8-Z15 of odd ones   Z16-Z23 accumulators   Z24-Z27 B   Z28-Z31 A
//	0(SP) the caller's MXCSR   4(SP) that of the kernel
func (k stream) tilesStored(s *source) {
	vecs := k.vecs
	n := k.rows * vecs
	k.tileStart(s, "Panels", 16*vecs)
	s.op("MOVQ streamBlock_b(DI), SI")
	s.op("MOVQ streamBlock_k(DI), CX")
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
