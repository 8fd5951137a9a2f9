package main

import (
	"fmt"
	"strings"
)

// inStep writes the kernel of AVX-512 for rows along K by more than one row of A that has its two slots at the same place of their rows.
// So a word of A is broadcast once for both, and while it multiplies a block, which it has transposed, it transposes the next:
// neither products that wait for each other nor shuffles leave the processor room to see what comes after them.
//
//	DI streamBlock   DX A   SI R10 offsets in a row of what is read and prefetched   R13 a block, transposed   R12 the next
func (k stream) inStep(s *source) {
	const slots, block = 2, 64
	addr := func(int) string { return "(AX)" }
	first := func(slot int) int { return 32 - (slots-slot)*k.rows }
	k.function(s, "Far", 16*slots)
	for g := range slots {
		k.accumulators(s, g, first(g), 1, addr, nil)
	}
	s.startSlot(0)
	s.op("LEAQ (streamBlock_turned+60)(DI), R12")
	s.op("ANDQ $-64, R12")
	s.op("LEAQ %d(R12), R13", slots*turnedBytes)
	ops := append(k.turn(0), k.turn(1)...)
	for _, op := range ops {
		s.op("%s", op)
	}
	s.label("loop")
	s.nextB(0, block)
	s.op("XCHGQ R12, R13")
	s.op("DECQ streamBlock_k(DI)")
	s.op("JZ last")
	k.multiplyTurned(s, first, ops)
	s.nextA(0, 16*4*k.kernel().mr)
	s.op("JMP loop")
	s.label("last")
	k.multiplyTurned(s, first, nil)
	for g := range slots {
		k.store(s, g, first(g), 1, addr, nil)
	}
	s.ret()
}

// turnedBytes is the size of a transposed block of a vector of columns.
const turnedBytes = 16 * 64

// between returns the first of eight registers between those of rows of B and the accumulators: two for what is under way, two of B and
// four of A.
func (k stream) between() int {
	if k.rows == 8 {
		return 8
	}
	return 16
}

// multiplyTurned multiplies a block of two slots whose accumulators start at the registers that first returns, with other instructions in
// between.
func (k stream) multiplyTurned(s *source, first func(slot int) int, others []string) {
	b := k.between() + 2
	a := b + 2
	for n := range 16 * k.rows {
		w, i := n/k.rows, n%k.rows
		if i == 0 {
			for g := range 2 {
				s.op("VMOVUPS %d(R13), Z%d", g*turnedBytes+64*w, b+g)
			}
		}
		s.op("VBROADCASTSS %d(DX), Z%d", 4*(w*k.kernel().mr+i), a+i%4)
		for g := range 2 {
			k.kernel().multiply(s, first(g)+i, a+i%4, b+g)
		}
		for _, op := range others[n*len(others)/(16*k.rows) : (n+1)*len(others)/(16*k.rows)] {
			s.op("%s", op)
		}
	}
}

// turn returns the instructions that transpose a block of a slot and prefetch as much. Both halves of a line are read at once, but with
// 8 rows, which have no registers left for that.
func (k stream) turn(slot int) []string {
	var s source
	if k.rows == 8 {
		for h := range 2 {
			k.readHalves(&s, slot, h, 1)
			k.turnHalf(&s, slot, h, 0)
		}
	} else {
		k.readHalves(&s, slot, 0, 2)
		k.turnHalf(&s, slot, 0, 0)
		k.turnHalf(&s, slot, 1, 8)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(s.String(), "\t", "")), "\n")
}

// readHalves reads half h of the lines of a slot's rows, or both, each to eight registers: those of rows i and 4+i side by side in the i-th,
// of rows 8+i and 12+i in the one four further. With the first half it prefetches.
func (k stream) readHalves(s *source, slot, h, halves int) {
	for i := range 4 {
		for q := range 4 {
			s.slot(slot, "rows", 4*q+i, "AX")
			for n := range halves {
				addr, reg := fmt.Sprintf("%d(AX)(SI*1)", 32*(h+n)), 8*n+q/2*4+i
				if q%2 == 0 {
					s.op("VMOVUPS %s, Y%d", addr, reg)
				} else {
					s.op("VINSERTF64X4 $1, %s, Z%d, Z%d", addr, reg, reg)
				}
			}
			if h == 0 {
				s.op("%s (AX)(R10*1)", k.prefetch())
			}
		}
	}
}

// turnHalf transposes what readHalves left in eight registers, words of four rows within the lanes and then lanes, and stores the words
// of half h.
func (k stream) turnHalf(s *source, slot, h, at int) {
	tmp := k.between()
	quad(s, k.kernel().reg, at, tmp, byWords)
	quad(s, k.kernel().reg, at+4, tmp, byWords)
	for j := range 4 {
		p, q := at+j, at+4+j
		s.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", q, p, tmp)
		s.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", q, p, q)
		s.op("VMOVUPS Z%d, %d(R12)", tmp, slot*turnedBytes+64*(8*h+j))
		s.op("VMOVUPS Z%d, %d(R12)", q, slot*turnedBytes+64*(8*h+4+j))
	}
}
