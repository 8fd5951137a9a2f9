package main

// tame writes the test of the accumulators of rows rows of a tile: whether all are zero or have exponents in a range.
// from is the first float32 in it, as an integer, and span how many there are.
//
//	from 0   span 1   all bits but the sign 2   zero 3   those that are not in the range 4 or K0
func (h hopperTile) tame(s *source) {
	s.function("tameHopper"+h.set(), "src unsafe.Pointer, lds, rows, from, span int, wild *int", 0,
		"It sets wild to 1 if not all are.")
	s.load("src", "SI", "lds", "R9", "rows", "CX", "from", "AX", "span", "DX")
	r := h.reg
	for i, from := range []string{"AX", "DX"} {
		s.op("VMOVQ %s, X%d", from, i)
		s.op("VPBROADCASTD X%d, %s", i, r(i))
	}
	h.bits(s, "VPXOR", "%s, %s, %s", r(3), r(3), r(3))
	if h.zmm {
		s.op("VPTERNLOGD $255, Z2, Z2, Z2")
		s.op("KXORW K0, K0, K0")
	} else {
		s.op("VPCMPEQD Y2, Y2, Y2")
		s.op("VPXOR Y4, Y4, Y4")
	}
	s.op("VPSRLD $1, %s, %s", r(2), r(2))
	s.label("loop")
	for v := range h.vecs {
		if h.zmm {
			s.op("VPANDD %d(SI), Z2, Z5", 64*v)
			s.op("VPTESTMD Z5, Z5, K1")
			s.op("VPSUBD Z0, Z5, Z5")
			s.op("VPCMPUD $5, Z1, Z5, K1, K1")
			s.op("KORW K1, K0, K0")
			continue
		}
		s.op("VPAND %d(SI), Y2, Y5", 32*v)
		s.op("VPCMPEQD Y3, Y5, Y6")
		s.op("VPSUBD Y0, Y5, Y5")
		s.op("VPMAXUD Y1, Y5, Y7")
		s.op("VPCMPEQD Y7, Y5, Y5")
		s.op("VPANDN Y5, Y6, Y6")
		s.op("VPOR Y6, Y4, Y4")
	}
	s.op("ADDQ R9, SI")
	s.op("DECQ CX")
	s.op("JNZ loop")
	if h.zmm {
		s.op("KTESTW K0, K0")
	} else {
		s.op("VPTEST Y4, Y4")
	}
	s.op("JEQ done")
	s.load("wild", "DI")
	s.op("MOVQ $1, (DI)")
	s.label("done")
	s.ret()
}
