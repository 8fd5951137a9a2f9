package main

// The steps of 512-bit kernels. While the terms of a step are added, the exponents of the next are compared: the first are
// bound by the two pipes that multiply, the second run anywhere.
//
//	sums 0-7   scales 8-15   accumulators 16-23   A, two rows 24 25   under way 26-28   largest exponents 29 30   mask 31

// steps512 writes the loop over the steps of K. CX and DX are where the exponents of the next step lie; in the last step
// they stay where they are.
func (h hopper) steps512(s *source) {
	for k := range h.products {
		h.compare512(s, k)
	}
	h.largest512(s)
	s.op("VMOVDQU32 ·hopperScale%d<>(SB), Z24", h.fraction)
	for v := range h.vecs {
		for r := range 2 {
			h.scale512(s, r, v)
		}
	}
	s.op("CMPQ R13, $1")
	s.op("JEQ step")
	h.next512(s)

	s.op("PCALIGN $64")
	s.label("step")
	compared := 0
	for k := range h.products {
		for r := range 2 {
			s.op("VBROADCASTSS %d(SI)(AX*1), %s", 4*(k*h.mr+r), h.tmp(r))
		}
		for v := range h.vecs {
			for r := range 2 {
				h.term512(s, k, r, v)
			}
			// The comparisons end a little before the terms.
			if at := (k*h.vecs + v + 1) * h.products / ((h.products - 1) * h.vecs); at > compared && compared < h.products {
				h.compare512(s, compared)
				compared++
			}
		}
	}
	h.largest512(s)
	s.op("VMOVDQU32 ·hopperScale%d<>(SB), Z24", h.fraction)
	s.op("VMOVDQU32 ·hopperInverse<>(SB), Z25")
	for v := range h.vecs {
		for r := range 2 {
			h.finish512(s, r, v)
			h.scale512(s, r, v)
		}
	}
	s.op("ADDQ $%d, AX", 4*h.products*h.mr)
	s.op("ADDQ $%d, DI", 4*h.products*h.sub)
	s.op("CMPQ R13, $3")
	s.op("JLT stay")
	h.next512(s)
	s.label("stay")
	s.op("DECQ R13")
	s.op("JNZ step")
}

// next512 advances to the exponents of the step after the next.
func (h hopper) next512(s *source) {
	s.op("ADDQ $%d, DX", 4*h.products*h.mr)
	s.op("ADDQ $%d, CX", h.products*h.pitch())
}

// compare512 writes the comparison of the exponents of product k of a step with those before it.
func (h hopper) compare512(s *source, k int) {
	for r := range 2 {
		t, largest := h.tmp(2+r), h.tmp(5+r)
		s.op("VPBROADCASTD %d(DX), %s", 4*(k*h.mr+r), t)
		s.op("VPADDSB %d(CX), %s, %s", k*h.pitch(), t, t)
		if k == 0 {
			s.op("VPMAXSB %s, %s, %s", h.scratch(2), t, largest)
		} else {
			s.op("VPMAXSB %s, %s, %s", t, largest, largest)
		}
	}
}

// largest512 writes the largest exponents of a step to scratch memory.
func (h hopper) largest512(s *source) {
	for r := range 2 {
		s.op("VPADDB %s, %s, %s", h.scratch(3), h.tmp(5+r), h.tmp(5+r))
		s.op("VMOVDQA32 %s, %s", h.tmp(5+r), h.scratch(r))
	}
}

// scale512 writes 2^(F-E), from the largest exponents and that of the accumulator, as float32s 2^E.
func (h hopper) scale512(s *source, r, v int) {
	t, u := h.tmp(2+r), h.tmp(4)
	s.op("VPMOVZXBD %d(BX), %s", r*h.bytes()+v*h.bytes()/4, t)
	s.op("VPSLLD $23, %s, %s", t, t)
	s.op("VPANDD %s, %s, %s", h.acc(r, v), "Z31", u)
	if h.f16 { // subnormal accumulators have the exponent of the least normal one
		s.op("VPTESTMD %s, %s, K1", u, u)
		s.op("VPMAXSD ·hopperLeastF16<>(SB), %s, K1, %s", u, u)
	}
	s.op("VPMAXSD %s, %s, %s", u, t, t)
	s.op("VPSUBD %s, Z24, %s", t, h.scale(r, v))
}

// term512 adds product k, truncated to an integer, or begins a sum with it.
func (h hopper) term512(s *source, k, r, v int) {
	t := h.tmp(2 + (2*v+r)%3)
	s.op("VMULPS %s, %s, %s", h.column(k, v), h.tmp(r), t)
	s.op("VMULPS %s, %s, %s", h.scale(r, v), t, t)
	if k == 0 {
		s.op("VCVTTPS2DQ %s, %s", t, h.sum(r, v))
		return
	}
	s.op("VCVTTPS2DQ %s, %s", t, t)
	s.op("VPADDD %s, %s, %s", t, h.sum(r, v), h.sum(r, v))
}

// finish512 writes the end of a step: the accumulator joins the sum, which becomes the accumulator.
func (h hopper) finish512(s *source, r, v int) {
	t, sum, scale := h.tmp(2+r), h.sum(r, v), h.scale(r, v)
	s.op("VMULPS %s, %s, %s", h.acc(r, v), scale, t)
	s.op("VCVTTPS2DQ %s, %s", t, t)
	s.op("VPADDD %s, %s, %s", t, sum, sum)
	s.op("VPSUBD %s, Z25, %s", scale, scale)
	if h.f16 {
		h.round512(s, sum, scale, h.acc(r, v))
		return
	}
	s.op("VCVTDQ2PS.RZ_SAE %s, %s", sum, sum)
	if h.result > 0 {
		s.op("VPANDD ·hopperResult%d<>(SB), %s, %s", h.result, sum, sum)
	}
	s.op("VMULPS %s, %s, %s", scale, sum, h.acc(r, v))
}

// round512 writes the rounding of a sum to an accumulator in f16, and to K2 whether it became infinite.
func (h hopper) round512(s *source, sum, unit, acc string) {
	s.op("VCVTDQ2PS.RZ_SAE %s, Z28", sum)
	if h.fraction > 13 {
		s.comment("Rounded to odd, to be rounded rightly once more.")
		s.op("VCVTTPS2DQ Z28, Z29")
		s.op("VPCMPD $4, Z29, %s, K1", sum)
		s.op("VPORD ·hopperOne<>(SB), Z28, K1, Z28")
	}
	s.op("VMULPS %s, Z28, Z28", unit)
	s.op("VCVTPS2PH $0, Z28, Y28")
	s.op("VCVTPH2PS Y28, Z28")
	s.comment("No zero is negative.")
	s.op("VPXORD Z29, Z29, Z29")
	s.op("VADDPS Z29, Z28, %s", acc)
	s.op("VPANDD Z31, %s, Z29", acc)
	s.op("VPCMPEQD Z31, Z29, K1")
	s.op("KORW K1, K2, K2")
}
