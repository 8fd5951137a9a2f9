package main

// The steps of 256-bit kernels: there are registers for one thing at a time. The accumulators stay in memory.
//
//	sums 0-5   scales 6-11   under way 12-15

// steps256 writes the loop over the steps of K. CX is where the exponents of B lie, those of A are AX after DX.
func (h hopper) steps256(s *source) {
	s.op("PCALIGN $64")
	s.label("step")
	h.exponents256(s)
	h.terms256(s)
	h.finish256(s)
	s.op("ADDQ $%d, AX", 4*h.products*h.mr)
	s.op("ADDQ $%d, DI", 4*h.products*h.sub)
	s.op("ADDQ $%d, CX", h.products*h.pitch())
	s.op("DECQ R13")
	s.op("JNZ step")
}

// exponents256 writes the first pass of a step: the largest exponents, and from them 2^(F-E), the scales.
func (h hopper) exponents256(s *source) {
	s.comment("The largest exponents of the products, a byte each.")
	for r := range 2 {
		s.op("VMOVDQA %s, %s", h.scratch(2), h.tmp(r))
	}
	for k := range h.products {
		s.op("VMOVDQU %d(CX), %s", k*h.pitch(), h.tmp(2))
		for r := range 2 {
			s.op("VPBROADCASTD %d(DX)(AX*1), %s", 4*(k*h.mr+r), h.tmp(3))
			s.op("VPADDSB %s, %s, %s", h.tmp(2), h.tmp(3), h.tmp(3))
			s.op("VPMAXSB %s, %s, %s", h.tmp(3), h.tmp(r), h.tmp(r))
		}
	}
	for r := range 2 {
		s.op("VPADDB %s, %s, %s", h.scratch(3), h.tmp(r), h.tmp(r))
		s.op("VMOVDQA %s, %s", h.tmp(r), h.scratch(r))
	}
	s.comment("With those of the accumulators, as float32s 2^E; from them 2^(F-E).")
	for v := range h.vecs {
		for r := range 2 {
			t, u := h.tmp(r), h.tmp(2+r)
			s.op("VPMOVZXBD %d(BX), %s", r*h.bytes()+v*h.bytes()/4, t)
			s.op("VPSLLD $23, %s, %s", t, t)
			s.op("VMOVDQU ·exponentMask<>(SB), %s", u)
			s.op("VPAND %s, %s, %s", h.acc(r, v), u, u)
			if h.f16 { // subnormal accumulators have the exponent of the least normal one
				w := h.tmp(1 - r)
				s.op("VPXOR %s, %s, %s", w, w, w)
				s.op("VPCMPEQD %s, %s, %s", w, u, w)
				s.op("VPANDN ·hopperLeastF16<>(SB), %s, %s", w, w)
				s.op("VPMAXSD %s, %s, %s", w, u, u)
			}
			s.op("VPMAXSD %s, %s, %s", u, t, t)
			s.op("VMOVDQU ·hopperScale%d<>(SB), %s", h.fraction, u)
			s.op("VPSUBD %s, %s, %s", t, u, h.scale(r, v))
		}
	}
}

// terms256 writes the second pass: the sums of the products as integers.
func (h hopper) terms256(s *source) {
	s.comment("The terms, truncated to integers, and their sums.")
	for k := range h.products {
		for r := range 2 {
			s.op("VBROADCASTSS %d(SI)(AX*1), %s", 4*(k*h.mr+r), h.tmp(r))
		}
		for v := range h.vecs {
			for r := range 2 {
				t := h.tmp(2 + r)
				s.op("VMULPS %s, %s, %s", h.column(k, v), h.tmp(r), t)
				s.op("VMULPS %s, %s, %s", h.scale(r, v), t, t)
				if k == 0 {
					s.op("VCVTTPS2DQ %s, %s", t, h.sum(r, v))
					continue
				}
				s.op("VCVTTPS2DQ %s, %s", t, t)
				s.op("VPADDD %s, %s, %s", t, h.sum(r, v), h.sum(r, v))
			}
		}
	}
}

// finish256 writes the end of a step: the accumulators join the sums, which become the accumulators.
func (h hopper) finish256(s *source) {
	s.comment("The accumulators join, and the sums become accumulators.")
	for v := range h.vecs {
		for r := range 2 {
			t, sum, scale := h.tmp(r), h.sum(r, v), h.scale(r, v)
			s.op("VMULPS %s, %s, %s", h.acc(r, v), scale, t)
			s.op("VCVTTPS2DQ %s, %s", t, t)
			s.op("VPADDD %s, %s, %s", t, sum, sum)
			switch {
			case h.f16 && h.fraction > 13:
				s.comment("Rounded to odd, to be rounded rightly once more.")
				s.op("VCVTDQ2PS %s, Y14", sum)
				s.op("VCVTTPS2DQ Y14, Y15")
				s.op("VPCMPEQD %s, Y15, Y15", sum)
				s.op("VPANDN ·hopperOne<>(SB), Y15, Y15")
				s.op("VPOR Y15, Y14, %s", sum)
			default:
				s.op("VCVTDQ2PS %s, %s", sum, sum)
			}
			s.op("VMOVDQU ·hopperInverse<>(SB), %s", t)
			s.op("VPSUBD %s, %s, %s", scale, t, scale)
			if h.result > 0 {
				s.op("VPAND ·hopperResult%d<>(SB), %s, %s", h.result, sum, sum)
			}
			s.op("VMULPS %s, %s, %s", scale, sum, sum)
			if h.f16 {
				h.round256(s, sum)
			}
			s.op("VMOVUPS %s, %s", sum, h.acc(r, v))
		}
	}
}

// round256 writes the rounding of a sum to f16, and to scratch memory whether it became infinite.
func (h hopper) round256(s *source, sum string) {
	s.op("VCVTPS2PH $0, %s, X14", sum)
	s.op("VCVTPH2PS X14, Y14")
	s.comment("No zero is negative.")
	s.op("VPXOR Y15, Y15, Y15")
	s.op("VADDPS Y15, Y14, %s", sum)
	s.op("VMOVDQU ·exponentMask<>(SB), Y14")
	s.op("VPAND Y14, %s, Y15", sum)
	s.op("VPCMPEQD Y14, Y15, Y15")
	s.op("VPOR %s, Y15, Y15", h.scratch(4))
	s.op("VMOVDQA Y15, %s", h.scratch(4))
}
