package main

// A variant of the strip kernel; without any of these see KernelFunc and Ahead.
type variant struct {
	rows bool  // see RowsFunc
	past bool  // see Kernel.MulPast and Kernel.RowsPast
	to   *form // what it rounds to, see Kernel.MulRound, or nil
}

// name returns how the names of the variant's functions start.
func (v variant) name() string {
	switch {
	case v.to != nil && v.rows && v.past:
		return "roundRowsPast" + v.to.name
	case v.to != nil && v.rows:
		return "roundRows" + v.to.name
	case v.to != nil && v.past:
		return "roundPast" + v.to.name
	case v.to != nil:
		return "round" + v.to.name
	case v.rows && v.past:
		return "rowsPast"
	case v.rows:
		return "rows"
	case v.past:
		return "past"
	}
	return "mul"
}

// rounded returns the types to which the kernel rounds its tiles.
func (k kernel) rounded() []*form {
	switch {
	case k.dot:
		return []*form{&bf16}
	case k.zmm:
		return []*form{&bf16, &f16}
	}
	return nil
}

// move returns the instruction that stores a vector.
func (v variant) move() string {
	if v.past {
		return "VMOVNTPS"
	}
	return "VMOVUPS"
}

// storeTile stores the accumulators to dst, after it has added src to them if that is due, or dst.
func (k kernel) storeTile(s *source, how variant) {
	s.label("store")
	k.addTile(s, how)
}

// addTile is storeTile without its label.
func (k kernel) addTile(s *source, how variant) {
	s.op("TESTQ R8, R8")
	s.op("JZ put")
	s.op("TESTQ R9, R9")
	s.op("JNS put")
	for i := range k.mr {
		for v := range k.vecs {
			r := k.reg(i*k.vecs + v)
			s.op("VADDPS %d(R8), %s, %s", v*k.bytes(), r, r)
		}
		s.op("SUBQ R9, R8")
	}
	if how.to == &bf16 && k.dot {
		s.comment("A total, unlike a sum of VDPBF16PS, may be subnormal.")
		plain := k
		plain.dot = false
		plain.putTile(s, how)
		s.op("JMP stored")
	}
	s.label("put")
	if how.to == nil && !how.past {
		s.op("TESTQ $1, %s", s.arg("lds"))
		s.op("JZ plain")
		for i := range k.mr {
			for v := range k.vecs {
				r := k.reg(i*k.vecs + v)
				s.op("VADDPS %d(R10), %s, %s", v*k.bytes(), r, r)
				s.op("VMOVUPS %s, %d(R10)", r, v*k.bytes())
			}
			s.op("ADDQ R11, R10")
		}
		s.op("JMP stored")
		s.label("plain")
	}
	k.putTile(s, how)
	s.label("stored")
}

// putTile stores the accumulators to dst.
func (k kernel) putTile(s *source, how variant) {
	if how.to == &bf16 && !k.dot {
		s.roundStart()
	}
	for i := range k.mr {
		at := i * k.vecs
		switch {
		case how.to == nil:
			for v := range k.vecs {
				s.op("%s %s, %d(R10)", how.move(), k.reg(at+v), v*k.bytes())
			}
		case how.to == &f16:
			for v := range k.vecs {
				// The immediate 0 asks for round to nearest even whatever MXCSR says.
				s.op("VCVTPS2PH $0, Z%d, Y%d", at+v, at+v)
				s.op("%s Y%d, %d(R10)", how.move(), at+v, v*32)
			}
		case k.dot:
			s.roundBF16(at, at+1, at)
			s.op("%s Z%d, (R10)", how.move(), at)
		default:
			s.roundHalves(at, at+1)
			s.op("%s Z%d, (R10)", how.move(), at)
		}
		s.op("ADDQ R11, R10")
	}
}

// roundStart sets the constants of roundHalves, in registers that hold nothing when a tile ends: Z27 is 1, Z28 0x7fff and Z29
// the quiet bit in each dword, Z30 the upper halves of two vectors.
func (s *source) roundStart() {
	s.op("VPTERNLOGD $0xff, Z27, Z27, Z27")
	s.op("VPSRLD $17, Z27, Z28")
	s.op("VPSRLD $31, Z27, Z27")
	s.op("VPSLLD $22, Z27, Z29")
	s.op("VMOVDQU64 ·uppers<>(SB), Z30")
}

// roundHalves writes the rounding of the float32 in the vectors low and high to a vector of bf16 in low: to nearest even, subnormals
// included. A NaN keeps its upper half and becomes quiet.
func (s *source) roundHalves(low, high int) {
	for _, r := range []int{low, high} {
		s.op("VCMPPS $3, Z%d, Z%d, K1", r, r)
		s.op("VPSRLD $16, Z%d, Z26", r)
		s.op("VPANDD Z27, Z26, Z26")
		s.op("VPADDD Z28, Z26, Z26")
		s.op("VPADDD Z%d, Z26, Z26", r)
		s.op("VPORD Z29, Z%d, K1, Z26", r)
		s.op("VMOVDQA64 Z26, Z%d", r)
	}
	s.op("VPERMT2W Z%d, Z30, Z%d", high, low)
}

// uppers selects the upper halves of the dwords of two vectors.
func uppers() (words []uint16) {
	for i := range uint16(32) {
		words = append(words, 2*i+1)
	}
	return words
}
