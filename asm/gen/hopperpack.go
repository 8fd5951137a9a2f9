package main

import "fmt"

// The second half of packing for Hopper's arithmetic: a scan of the values of a panel, and their exponents.

// A hopperSide is the values of a panel of A, or of one part of a panel of B: width side by side.
type hopperSide struct {
	vectors
	width int
	b     bool
}

// vecs is the number of vectors in a row of a part of B.
func (h hopperSide) vecs() int { return max(4*h.width/h.bytes(), 1) }

func hopperPackers(s *source) {
	for _, tile := range hopperTiles {
		for _, h := range []hopperSide{{tile.vectors, tile.mr, false}, {tile.vectors, tile.sub, true}} {
			for _, products := range []int{16, 8, 32} {
				h.scan(s, products)
			}
			if h.b {
				h.exponentsB(s)
			} else {
				h.exponentsA(s)
			}
		}
	}
	s.dwords("fractionMask", 16, same(1<<23-1))
	s.dwords("hopperZero", 16, same(0xffffff80))
	s.dwords("hopperFirst", 16, func(i int) uint32 { return uint32(i%4) * 0x04040404 })
	s.dwords("hopperLanes", 8, func(i int) uint32 { return uint32(i/2 + i%2*4) })
}

// name is the part of a name that says what the function is for.
func (h hopperSide) name() string {
	return h.set() + map[bool]string{true: "B", false: "A"}[h.b]
}

// scan writes a scan of steps steps of elements of K, 16 for a type with products of 16 and otherwise 8: the largest
// and the smallest of what it finds, one of each per lane; see hopperScan. With 16 products it also finds the largest
// sum of fractions of a column in a step; with 8, tf32, it rounds the values first, to nearest even at 10 fraction
// bits, and NaN to 0x7fffe000.
//
//	largest 0   smallest 1   largest sum of a step 2   sums of the step under way 3 4 5   tmp 6 9   fractions 7   -1 8
//	tf32: tmp 3 4 6   a bit 5   the bits that stay 7   half of their last, less a bit 10   NaN 11
func (h hopperSide) scan(s *source, products int) {
	s.function(fmt.Sprintf("scanHopper%sx%d", h.name(), products),
		"values unsafe.Pointer, steps int, out *hopperScan", 0, "See hopperScan.")
	s.load("values", "SI", "steps", "CX", "out", "DI")
	r := h.reg
	for i := range 3 {
		h.bits(s, "VPXOR", "%s, %s, %s", r(i), r(i), r(i))
	}
	if h.zmm {
		s.op("VPTERNLOGD $255, Z8, Z8, Z8")
	} else {
		s.op("VPCMPEQD Y8, Y8, Y8")
	}
	h.bits(s, "VMOVDQA", "%s, %s", r(8), r(1))
	switch products {
	case 16:
		h.bits(s, "VMOVDQU", "·fractionMask<>(SB), %s", r(7))
	case 8:
		s.op("VPSRLD $31, %s, %s", r(8), r(5))
		s.op("VPSLLD $13, %s, %s", r(8), r(7))
		s.op("VPSRLD $20, %s, %s", r(8), r(10))
		s.op("VPSLLD $14, %s, %s", r(8), r(11))
		s.op("VPSRLD $1, %s, %s", r(11), r(11))
	}
	s.op("PCALIGN $64")
	s.label("loop")
	for i := range h.vecs() {
		if products == 16 {
			h.bits(s, "VPXOR", "%s, %s, %s", r(3+i), r(3+i), r(3+i))
		}
	}
	elements := 8
	if products == 16 {
		elements = 16
	}
	n := elements * h.width * 4 / h.bytes()
	for i := range n {
		h.bits(s, "VMOVDQU", "%d(SI), %s", i*h.bytes(), r(6))
		switch products {
		case 16:
			h.bits(s, "VPAND", "%s, %s, %s", r(7), r(6), r(9))
			sum := r(3 + i%h.vecs())
			s.op("VPADDD %s, %s, %s", r(9), sum, sum)
		case 8:
			h.round(s)
			h.bits(s, "VMOVDQU", "%s, %d(SI)", r(6), i*h.bytes())
		}
		s.comment("Without the sign; and less one, which makes zero the largest.")
		s.op("VPADDD %s, %s, %s", r(6), r(6), r(6))
		s.op("VPMAXUD %s, %s, %s", r(6), r(0), r(0))
		s.op("VPADDD %s, %s, %s", r(8), r(6), r(6))
		s.op("VPMINUD %s, %s, %s", r(6), r(1), r(1))
	}
	if products == 16 {
		if !h.b {
			s.comment("A vector holds two elements of K.")
			if h.zmm {
				s.op("VSHUFI64X2 $0x4e, Z3, Z3, Z6")
			} else {
				s.op("VPERM2I128 $0x01, Y3, Y3, Y6")
			}
			s.op("VPADDD %s, %s, %s", r(6), r(3), r(3))
		}
		for i := range h.vecs() {
			s.op("VPMAXUD %s, %s, %s", r(3+i), r(2), r(2))
		}
	}
	s.op("ADDQ $%d, SI", n*h.bytes())
	s.op("DECQ CX")
	s.op("JNZ loop")
	for i, field := range []string{"largest", "smallest", "sum"} {
		h.bits(s, "VMOVDQU", "%s, hopperScan_%s(DI)", r(i), field)
	}
	s.ret()
}

// round rounds register 6 to tf32, with the constants of scan.
func (h hopperSide) round(s *source) {
	r := h.reg
	if h.zmm {
		s.op("VCMPPS $3, Z6, Z6, K1")
	} else {
		s.op("VCMPPS $3, Y6, Y6, Y4")
	}
	s.op("VPSRLD $13, %s, %s", r(6), r(3))
	h.bits(s, "VPAND", "%s, %s, %s", r(5), r(3), r(3))
	s.op("VPADDD %s, %s, %s", r(3), r(6), r(6))
	s.op("VPADDD %s, %s, %s", r(10), r(6), r(6))
	h.bits(s, "VPAND", "%s, %s, %s", r(7), r(6), r(6))
	if h.zmm {
		s.op("VMOVDQA32 Z11, K1, Z6")
	} else {
		s.op("VBLENDVPS Y4, Y11, Y6, Y6")
	}
}

// relative writes from a vector of values, in reg, their exponents as a panel has them, in dst: at least -128.
//
//	exponent field of the smallest normal 0   field of the largest less 63 1   -128 2   zero 3
func (h hopperSide) relative(s *source, reg, dst, mask string) {
	s.op("VPADDD %s, %s, %s", reg, reg, reg)
	if h.zmm {
		s.op("VPTESTMD %s, %s, K1", reg, reg)
	} else {
		s.op("VPCMPEQD Y3, %s, %s", reg, mask)
	}
	s.op("VPSRLD $24, %s, %s", reg, reg)
	s.op("VPMAXUD %s, %s, %s", h.reg(0), reg, reg)
	if h.zmm {
		s.op("VMOVDQA32 Z2, %s", dst)
		s.op("VPSUBD Z1, %s, K1, %s", reg, dst)
		return
	}
	s.op("VPSUBD Y1, %s, %s", reg, reg)
	s.op("VPMAXSD Y2, %s, %s", reg, reg)
	s.op("VPBLENDVB %s, Y2, %s, %s", mask, reg, dst)
}

// relatives loads what relative needs from normal in AX and base in BX.
func (h hopperSide) relatives(s *source) {
	for i, from := range []string{"AX", "BX"} {
		s.op("VMOVQ %s, X%d", from, i)
		s.op("VPBROADCASTD X%d, %s", i, h.reg(i))
	}
	h.bits(s, "VMOVDQU", "·hopperZero<>(SB), %s", h.reg(2))
	h.bits(s, "VPXOR", "%s, %s, %s", h.reg(3), h.reg(3), h.reg(3))
}

// exponentsA writes the exponents of a panel of A, each byte four times, n vectors of them.
func (h hopperSide) exponentsA(s *source) {
	s.function("exponentsHopper"+h.name(), "dst, values unsafe.Pointer, n, normal, base int", 0,
		"n vectors; normal and base are exponent fields.")
	s.load("dst", "DI", "values", "SI", "n", "CX", "normal", "AX", "base", "BX")
	h.relatives(s)
	s.comment("The first byte of each dword, four times.")
	h.bits(s, "VMOVDQU", "·hopperFirst<>(SB), %s", h.reg(4))
	s.op("PCALIGN $64")
	s.label("loop")
	h.bits(s, "VMOVDQU", "(SI), %s", h.reg(5))
	h.relative(s, h.reg(5), h.reg(6), h.reg(7))
	if h.zmm {
		s.op("VPMAXSD Z2, Z6, Z6")
	}
	s.op("VPSHUFB %s, %s, %s", h.reg(4), h.reg(6), h.reg(6))
	h.bits(s, "VMOVDQU", "%s, (DI)", h.reg(6))
	s.op("ADDQ $%d, SI", h.bytes())
	s.op("ADDQ $%d, DI", h.bytes())
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.ret()
}

// exponentsB writes the exponents of a panel of B, k steps of a vector.
func (h hopperSide) exponentsB(s *source) {
	s.function("exponentsHopper"+h.name(), "dst, values unsafe.Pointer, k, normal, base, half int", 0,
		"k vectors; normal and base are exponent fields; half is the bytes to the second half of the columns, "+
			"if there is one.")
	s.load("dst", "DI", "values", "SI", "k", "CX", "normal", "AX", "base", "BX")
	h.relatives(s)
	if h.zmm {
		s.load("half", "R9")
	} else {
		h.bits(s, "VMOVDQU", "·hopperLanes<>(SB), %s", h.reg(4))
	}
	s.op("PCALIGN $64")
	s.label("loop")
	if h.zmm {
		for i, from := range []string{"(SI)", "64(SI)", "(SI)(R9*1)", "64(SI)(R9*1)"} {
			s.op("VMOVDQU32 %s, Z5", from)
			h.relative(s, "Z5", "Z6", "")
			s.op("VPMOVSDB Z6, %d(DI)", 16*i)
		}
	} else {
		for i := range 3 {
			s.op("VMOVDQU %d(SI), Y5", 32*i)
			h.relative(s, "Y5", h.reg(6+i), "Y9")
		}
		s.op("VPACKSSDW Y7, Y6, Y6")
		s.op("VPACKSSDW Y2, Y8, Y8")
		s.op("VPACKSSWB Y8, Y6, Y6")
		s.op("VPERMD Y6, Y4, Y6")
		s.op("VMOVDQU Y6, (DI)")
	}
	s.op("ADDQ $%d, SI", 4*h.width)
	s.op("ADDQ $%d, DI", h.bytes())
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.ret()
}
