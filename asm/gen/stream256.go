package main

import "fmt"

// The stream kernels of AVX2 have no masks: columns that are not whole vectors are for the caller to copy.

// streams256 writes those for rows of K and for panels.
func streams256(s *source) {
	for _, f := range []form{words, bf16, f16} {
		for _, rows := range streamRows[:3] {
			stream{f, rows, 8 / rows, true, false}.straight256(s)
		}
	}
	for _, f := range []form{words, bf16, f16} {
		for _, rows := range streamRows[:3] {
			stream{f, rows, kernels[2].vecs, true, false}.panels(s)
		}
	}
}

// straight256 is straight for whole vectors: blocks that are as wide as there are accumulators for, and then narrower ones.
func (k stream) straight256(s *source) {
	k.straightStart(s)
	for vecs := k.vecs; vecs > 0; vecs /= 2 {
		block, loop := fmt.Sprintf("block%d", vecs), fmt.Sprintf("loop%d", vecs)
		n := stream{k.form, k.rows, vecs, true, false}
		s.label(block)
		s.op("CMPQ BX, $%d", 8*vecs)
		s.op("JL block%d", vecs/2)
		n.accumulators(s, 0, 0, vecs, n.column, nil)
		n.straightTop(s)
		if vecs == k.vecs {
			n.aim(s)
			n.straightLoop(s, loop, 8*vecs*k.bytes)
		} else {
			n.straightLoop(s, loop, 0)
		}
		n.store(s, 0, 0, vecs, n.column, nil)
		n.straightNext(s, 8*vecs)
		s.op("JMP %s", block)
	}
	s.label("block0")
	s.ret()
}

// step256 multiplies a row of B, a vector after the other, with the prefetches of some addresses spread among them. The
// accumulators come first in the register file, then A, and what is left takes B in turn.
func (k stream) step256(s *source, fetch []string) {
	a := k.rows * k.vecs
	for i := range k.rows {
		s.op("VBROADCASTSS %d(DX), Y%d", 4*i, a+i)
	}
	b := a + k.rows
	for v := range k.vecs {
		y := b + v%(16-b)
		k.load256(s, fmt.Sprintf("%d(SI)", 8*v*k.bytes), y)
		for i := range k.rows {
			k.kernel().multiply(s, i*k.vecs+v, a+i, y)
		}
		for f := v * len(fetch) / k.vecs; f < (v+1)*len(fetch)/k.vecs; f++ {
			s.op("PREFETCHT0 %s", fetch[f])
		}
	}
}

// slots256 multiplies a block of all slots, whose accumulators start at the registers that first returns. It takes 16 bytes of
// each row at a time, the fifth row's beside the first's and so on, and transposes the words of four rows within the lanes.
// Pairs of bf16 are transposed as words, and f16 so far that only the halves of a lane are in the wrong one.
//
//	Y0-Y3 B   Y4 Y5 under way   Y6 upper halves   Y7 A   Y8-Y15 accumulators
func (k stream) slots256(s *source, first func(slot int) int) {
	if k.form == bf16 {
		s.op("VPCMPEQD Y6, Y6, Y6")
		s.op("VPSLLD $16, Y6, Y6")
	}
	unpack := byWords
	if k.form == f16 {
		unpack = byHalves
	}
	depth, steps := 64/k.bytes, 16/k.bytes // of K in a block, and at a time
	for at := 0; at < depth; at += steps {
		for slot := range k.vecs {
			regs := slotRegs[slot]
			addr := fmt.Sprintf("%d(AX)(%s*1)", at*k.bytes, regs.offset)
			for i := range 8 {
				s.slot(slot, "rows", i%2*4+i/2, "AX")
				if i%2 == 0 {
					s.op("VMOVUPS %s, X%d", addr, i/2)
				} else {
					s.op("VINSERTF128 $1, %s, Y%d, Y%d", addr, i/2, i/2)
				}
				if i/2 == at/steps {
					s.op("PREFETCHT0 (AX)(%s*1)", regs.fetch)
				}
			}
			quad(s, k.kernel().reg, 0, 4, unpack)
			for step := range steps {
				b := k.widened(s, step)
				for i := range k.rows {
					s.op("VBROADCASTSS %d(%s), Y7", 4*(k.kernel().mr*(at+step)+i), regs.a)
					k.kernel().multiply(s, first(slot)+i, 7, b)
				}
			}
		}
	}
}

// widened returns the register for a step of K of 16 bytes of each row.
func (k stream) widened(s *source, step int) int {
	from, to := step/2, 4+step%2
	switch {
	case k.form == words:
		return step
	case k.form == bf16 && step%2 == 0:
		s.op("VPSLLD $16, Y%d, Y%d", from, to)
	case k.form == bf16:
		s.op("VPAND Y%d, Y6, Y%d", from, to)
	case step%2 == 0:
		s.op("VPERMQ $0xd8, Y%d, Y%d", from, from)
		s.op("VCVTPH2PS X%d, Y%d", from, to)
	default:
		s.op("VEXTRACTF128 $1, Y%d, X%d", from, to)
		s.op("VCVTPH2PS X%d, Y%d", to, to)
	}
	return to
}
