package main

// The steps of the kernels of Hopper's arithmetic, one row of a tile after the other. While the terms of a row are
// added, the exponents of the next are compared, and with 512 bits, where there are registers for it, its scales are
// made.
//
// A term is two multiplications, which two pipes of four can do, a conversion, which the other two can, and an
// addition, which runs anywhere: it takes the place of a multiplication unless those of several terms are in flight,
// so each instruction of a term is written some terms after the one before.
//
//	sums   scales, of two rows   A    an exponent   largest exponents   terms in flight   temporaries
//	0-3    4-11                  12   13            14                  15-24             25-27         512 bits
//	0-2    3-5, of one           6    7             8                   9-15              9-15          256 bits

func (h hopper) sum(v int) string { return h.reg(v) }

func (h hopper) scale(r, v int) string {
	if h.zmm {
		return h.reg(h.vecs*(1+r) + v)
	}
	return h.reg(h.vecs + v)
}

// at numbers the registers after the scales.
func (h hopper) at(i int) string { return h.reg(h.vecs*(2+b2i(h.zmm)) + i) }

func (h hopper) element() string  { return h.at(0) }
func (h hopper) exponent() string { return h.at(1) }
func (h hopper) largest() string  { return h.at(2) }

// tmp is the register of term i, and of what comes when no term is in flight.
func (h hopper) tmp(i int) string { return h.at(3 + i%h.tmps()) }
func (h hopper) tmps() int        { return 7 + 3*b2i(h.zmm) }

// aside is tmp for what comes while terms are in flight, if there is such with so many bits.
func (h hopper) aside(i int) string {
	if h.zmm {
		return h.at(3 + h.tmps() + i%3)
	}
	return h.tmp(i)
}

// steps writes the loop over the steps of K. CX and DX are where the exponents of the row after the one under way
// lie; at the end they stay where they are.
func (h hopper) steps(s *source) {
	for k := range h.products {
		h.compare(s, 0, k)
	}
	h.rescale(s, 0)
	s.op("PCALIGN $64")
	s.label("step")
	for r := range 2 {
		if r == 1 {
			s.op("CMPQ R13, $1")
			s.op("JEQ last")
			s.op("ADDQ $%d, DX", 4*h.products*h.mr)
			s.op("ADDQ $%d, CX", h.products*h.pitch())
			s.label("last")
		}
		h.terms(s, r)
		for v := range h.vecs {
			h.finish(s, r, v)
		}
		if !h.zmm {
			h.rescale(s, 1-r)
		}
	}
	s.op("ADDQ $%d, AX", 4*h.products*h.mr)
	s.op("ADDQ $%d, DI", 4*h.products*h.sub)
	s.op("DECQ R13")
	s.op("JNZ step")
}

// compare writes the comparison of the exponents of product k of a row with those before it.
func (h hopper) compare(s *source, r, k int) {
	e := h.exponent()
	s.op("VPBROADCASTD %d(DX), %s", 4*(k*h.mr+r), e)
	s.op("VPADDSB %d(CX), %s, %s", k*h.pitch(), e, e)
	if k == 0 {
		s.op("VPMAXSB %s, %s, %s", h.scratch(1), e, h.largest())
	} else {
		s.op("VPMAXSB %s, %s, %s", e, h.largest(), h.largest())
	}
}

// rescale writes 2^(F-E) of a row, from the largest exponents and those of the accumulators, as float32s 2^E.
func (h hopper) rescale(s *source, r int) {
	s.op("VPADDB %s, %s, %s", h.scratch(2), h.largest(), h.largest())
	h.bits(s, "VMOVDQA", "%s, %s", h.largest(), h.scratch(0))
	for v := range h.vecs {
		h.rescaleVector(s, r, v)
	}
}

func (h hopper) rescaleVector(s *source, r, v int) {
	t, u, w := h.aside(3*v), h.aside(3*v+1), h.aside(3*v+2)
	s.op("VPMOVZXBD %d(BX), %s", v*h.bytes()/4, t)
	s.op("VPSLLD $23, %s, %s", t, t)
	h.bits(s, "VMOVDQU", "·exponentMask<>(SB), %s", u)
	h.bits(s, "VPAND", "%s, %s, %s", h.acc(r, v), u, u)
	switch { // subnormal accumulators in f16 have the exponent of the least normal one
	case h.f16 && h.zmm:
		s.op("VPTESTMD %s, %s, K1", u, u)
		s.op("VPMAXSD ·hopperLeastF16<>(SB), %s, K1, %s", u, u)
	case h.f16:
		s.op("VPXOR %s, %s, %s", w, w, w)
		s.op("VPCMPEQD %s, %s, %s", w, u, w)
		s.op("VPANDN ·hopperLeastF16<>(SB), %s, %s", w, w)
		s.op("VPMAXSD %s, %s, %s", w, u, u)
	}
	s.op("VPMAXSD %s, %s, %s", u, t, t)
	h.bits(s, "VMOVDQU", "·hopperScale%d<>(SB), %s", h.fraction(), u)
	s.op("VPSUBD %s, %s, %s", t, u, h.scale(r, v))
}

// terms writes the sums of the products of row r as integers, and the comparisons of the other row.
func (h hopper) terms(s *source, r int) {
	n, apart := h.products*h.vecs, (h.tmps()-1)/3
	compared, before := 0, n-h.vecs // when the comparisons are over
	if h.zmm {
		before = n * 5 / 8
	}
	for i := range n + 3*apart {
		if i < n {
			k, v := i/h.vecs, i%h.vecs
			if v == 0 {
				s.op("VBROADCASTSS %d(SI)(AX*1), %s", 4*(k*h.mr+r), h.element())
			}
			s.op("VMULPS %s, %s, %s", h.column(k, v), h.element(), h.tmp(i))
		}
		if j := i - apart; 0 <= j && j < n {
			s.op("VMULPS %s, %s, %s", h.scale(r, j%h.vecs), h.tmp(j), h.tmp(j))
		}
		if j := i - 2*apart; 0 <= j && j < n {
			to := h.tmp(j)
			if j < h.vecs {
				to = h.sum(j)
			}
			s.op("VCVTTPS2DQ %s, %s", h.tmp(j), to)
		}
		if j := i - 3*apart; h.vecs <= j && j < n {
			s.op("VPADDD %s, %s, %s", h.tmp(j), h.sum(j%h.vecs), h.sum(j%h.vecs))
		}
		for ; compared < min((i+1)*h.products/before, h.products); compared++ {
			h.compare(s, 1-r, compared)
		}
		if h.zmm && i == before+apart {
			h.rescale(s, 1-r)
		}
	}
}

// finish writes the end of a step: an accumulator joins the sum, which becomes the accumulator.
func (h hopper) finish(s *source, r, v int) {
	t, sum, scale := h.tmp(3*v), h.sum(v), h.scale(r, v)
	s.op("VMULPS %s, %s, %s", h.acc(r, v), scale, t)
	s.op("VCVTTPS2DQ %s, %s", t, t)
	s.op("VPADDD %s, %s, %s", t, sum, sum)
	h.bits(s, "VMOVDQU", "·hopperInverse<>(SB), %s", t)
	s.op("VPSUBD %s, %s, %s", scale, t, scale)
	switch {
	case h.f16 && h.zmm:
		h.round512(s, r, v)
	case h.f16:
		h.round256(s, r, v)
	default:
		h.convert(s, sum, sum)
		if h.products == 32 {
			h.bits(s, "VPAND", "·hopperResult%d<>(SB), %s, %s", h.fraction(), sum, sum)
		}
		s.op("VMULPS %s, %s, %s", scale, sum, sum)
	}
	s.op("VMOVUPS %s, %s", sum, h.acc(r, v))
}

// convert writes the conversion of integers to float32s, rounded toward zero.
func (h hopper) convert(s *source, from, to string) {
	op := "VCVTDQ2PS"
	if h.zmm {
		op += ".RZ_SAE"
	}
	s.op("%s %s, %s", op, from, to)
}

// round512 writes the rounding of a sum to an accumulator in f16, and to K2 whether it became infinite.
func (h hopper) round512(s *source, r, v int) {
	sum, t, u := h.sum(v), h.tmp(3*v), h.tmp(3*v+1)
	h.convert(s, sum, t)
	if h.fraction() > 13 {
		s.comment("Rounded to odd, to be rounded rightly once more.")
		s.op("VCVTTPS2DQ %s, %s", t, u)
		s.op("VPCMPD $4, %s, %s, K1", u, sum)
		s.op("VPORD ·hopperOne<>(SB), %s, K1, %s", t, t)
	}
	s.op("VMULPS %s, %s, %s", h.scale(r, v), t, t)
	s.op("VCVTPS2PH $0, %s, Y%s", t, t[1:])
	s.op("VCVTPH2PS Y%s, %s", t[1:], t)
	s.comment("No zero is negative.")
	s.op("VPXORD %s, %s, %s", u, u, u)
	s.op("VADDPS %s, %s, %s", u, t, sum)
	s.op("VMOVDQU32 ·exponentMask<>(SB), %s", t)
	s.op("VPANDD %s, %s, %s", t, sum, u)
	s.op("VPCMPEQD %s, %s, K1", t, u)
	s.op("KORW K1, K2, K2")
}

// round256 is round512, with scratch memory for K2.
func (h hopper) round256(s *source, r, v int) {
	sum, t, u := h.sum(v), h.tmp(3*v), h.tmp(3*v+1)
	h.convert(s, sum, t)
	if h.fraction() > 13 {
		s.comment("Rounded to odd, to be rounded rightly once more.")
		s.op("VCVTTPS2DQ %s, %s", t, u)
		s.op("VPCMPEQD %s, %s, %s", sum, u, u)
		s.op("VPANDN ·hopperOne<>(SB), %s, %s", u, u)
		s.op("VPOR %s, %s, %s", u, t, t)
	}
	s.op("VMULPS %s, %s, %s", h.scale(r, v), t, t)
	s.op("VCVTPS2PH $0, %s, X%s", t, t[1:])
	s.op("VCVTPH2PS X%s, %s", t[1:], t)
	s.comment("No zero is negative.")
	s.op("VPXOR %s, %s, %s", u, u, u)
	s.op("VADDPS %s, %s, %s", u, t, sum)
	s.op("VMOVDQU ·exponentMask<>(SB), %s", t)
	s.op("VPAND %s, %s, %s", t, sum, u)
	s.op("VPCMPEQD %s, %s, %s", t, u, u)
	s.op("VPOR %s, %s, %s", h.scratch(3), u, u)
	s.op("VMOVDQA %s, %s", u, h.scratch(3))
}
