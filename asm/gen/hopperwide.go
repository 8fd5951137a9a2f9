package main

import "fmt"

// The kernels of Hopper's arithmetic for all operands and accumulators. They count in float64, which holds products of
// elements exactly, whatever their exponents, and in which infinities and NaN have the rules of the hardware.
//
//	E    = max(exponent of C, ea[k] + eb[k] ...)    16-bit integers
//	sum  = trunc(C·1/u) + Σ trunc(a[k]·b[k]·1/u)    float64; an integer of less than 40 bits, an infinity or NaN
//	C    = float32(sum·u)                           rounded toward zero, or to nearest even to f16
//
// Operands are decoded once a call for a few steps of K, to float64 and the exponents of what is not zero. C stays in
// the destination; one row after the other does a step, so that the end of one overlaps with the beginning of the
// next.

// A wide is such a kernel: 32 or, with 256 bits, 16 bytes of C go through a register of float64.
type wide struct{ hopper }

// writeHopperWides writes the file of the kernels.
func writeHopperWides(s *source) {
	for _, tile := range hopperTiles {
		for _, f16 := range []bool{false, true} {
			wide{hopper{hopperTile: tile, f16: f16}}.mul(s)
		}
	}
	s.dwords("hopperMagnitude", 16, same(1<<31-1))
	s.dwords("hopperLeastF32", 16, same(1<<23))
	s.dwords("hopperLeastF16", 16, same((127-14)<<23))
	s.dwords("hopperNaN", 16, same(1<<31-1))
	s.dwords("hopperNone", 16, same(1<<32-1<<14)) // -16384: the exponent of zero
	s.dwords("hopperFloor", 16, same(0xff00ff00)) // -256 twice: below all sums of exponents, above those with a zero
	s.dwords("hopperBias", 16, same(127))
	s.dwords("hopperMagnitude64", 16, same64(1<<63-1))
	s.dwords("hopperInverse64", 16, same64(2046<<52))
	s.dwords("hopperOverflow64", 16, same64((1023+128)<<52))
	s.dwords("hopperInfinity64", 16, same64(2047<<52))
	s.dwords("hopperDropped64", 16, same64(1<<29-1)) // what a float64 has below the last bit of a float32
	s.dwords("hopperLast64", 16, same64(1<<29))
}

// n is the number of vectors in a row of C.
func (h wide) n() int { return 2 * h.vecs }

// lanes is the number of float64 in a vector.
func (h wide) lanes() int { return h.bytes() / 8 }

// The registers: sums and scales, and at the other end temporaries, which have a half that holds as many float32s.
func (h wide) sum(v int) string   { return h.reg(b2i(h.zmm)*16 + v) }
func (h wide) scale(v int) string { return h.reg(b2i(h.zmm)*16 + h.n() + v) }
func (h wide) tmp(i int) string   { return h.reg(12*b2i(!h.zmm) + i) }
func (h wide) half(i int) string {
	if h.zmm {
		return fmt.Sprintf("Y%d", i)
	}
	return fmt.Sprintf("X%d", 12+i)
}

// Places after BX: exponents of a row of products, constants of the call, and the decoded operands: of A k × mr
// float64 and k × mr dwords, an exponent twice; of B k × nr float64 and k × nr words.
func (h wide) row(i int) string { return fmt.Sprintf("%d(BX)", i*h.bytes()) }
func (h wide) bias() string     { return "128(BX)" }
func (h wide) kept() string     { return "192(BX)" }

const (
	wideConstants = 256
	wideDepth     = 32 // elements of K that are decoded at once
)

func (h wide) nr() int   { return h.n() * h.lanes() }
func (h wide) aexp() int { return wideConstants }
func (h wide) a() int    { return h.aexp() + 4*wideDepth*h.mr }
func (h wide) b() int    { return h.a() + 8*wideDepth*h.mr }
func (h wide) bexp() int { return h.b() + 8*wideDepth*h.nr() }

// out is the place of vector v of the row of C at base.
func (h wide) out(base string, v int) string { return fmt.Sprintf("%d(%s)", 4*v*h.lanes(), base) }

// full writes a bitwise instruction on float64s.
func (h wide) full(s *source, op, operands string, args ...any) {
	if h.zmm {
		op += "Q"
	}
	s.op(op+" "+operands, args...)
}

// mul writes a strip kernel; see hopperWide for what it is given.
//
//	BX places   SI values of A, of the tile   R8 src   R9 blocks left, and other counts   R10 dst   R11 ldd
//	R12 tiles left   R13 steps left   R14 row of C   DI offset of the exponents of the row of A, half of that of its
//	values   CX of the step of B, a quarter of that of its values   AX, DX the same of a block
//	0(SP) rows left   8(SP) MXCSR of the caller   12(SP) of the kernel
func (h wide) mul(s *source) {
	s.function("wideHopper"+h.set()+h.accumulators(), "c *hopperWide", 16,
		fmt.Sprintf("%d × %d, of all operands.", h.mr, h.nr()))
	s.load("c", "AX")
	s.op("MOVQ hopperWide_places(AX), BX")
	s.op("ADDQ $63, BX")
	s.op("ANDQ $-64, BX")
	s.op("VPBROADCASTD hopperWide_bias(AX), Y0")
	s.op("VMOVDQU Y0, %s", h.bias())
	s.op("VPBROADCASTQ hopperWide_kept(AX), %s", h.tmp(0))
	s.op("VMOVUPD %s, %s", h.tmp(0), h.kept())
	if !h.zmm {
		s.op("STMXCSR 8(SP)")
		s.op("MOVL 8(SP), CX")
		s.op("ORL $0x6000, CX")
		s.op("MOVL CX, 12(SP)")
		s.op("LDMXCSR 12(SP)")
	}
	h.decodeB(s)
	s.fields("hopperWide", "AX", "a", "SI", "src", "R8", "dst", "R10", "ldd", "R11", "tiles", "R12")

	s.label("tile")
	h.decodeA(s)
	h.start(s)
	s.op("MOVQ hopperWide_steps(AX), R13")
	s.op("XORQ DI, DI")
	s.op("XORQ CX, CX")

	s.label("step")
	s.op("MOVQ $%d, 0(SP)", h.mr)
	s.op("MOVQ R10, R14")
	s.op("PCALIGN $64")
	s.label("row")
	h.exponents(s)
	h.scales(s)
	h.terms(s)
	for v := range h.n() {
		h.finish(s, v)
	}
	s.op("ADDQ $4, DI")
	s.op("ADDQ R11, R14")
	s.op("DECQ 0(SP)")
	s.op("JNZ row")
	s.op("LEAQ %d(AX), DI", -4*(h.mr-1))
	s.op("MOVQ DX, CX")
	s.op("DECQ R13")
	s.op("JNZ step")

	s.comment("There is one NaN and one zero.")
	s.op("MOVQ $%d, R9", h.mr)
	s.op("VMOVDQU ·hopperNaN<>(SB), %s", h.half(2))
	s.op("VPXOR %s, %s, %s", h.half(3), h.half(3), h.half(3))
	s.label("same")
	for v := range h.n() {
		s.op("VADDPS %s, %s, %s", h.out("R10", v), h.half(3), h.half(0))
		s.op("VCMPPS $3, %s, %s, %s", h.half(0), h.half(0), h.half(1))
		s.op("VBLENDVPS %s, %s, %s, %s", h.half(1), h.half(2), h.half(0), h.half(0))
		s.op("VMOVUPS %s, %s", h.half(0), h.out("R10", v))
	}
	s.op("ADDQ R11, R10")
	s.op("DECQ R9")
	s.op("JNZ same")
	s.load("c", "AX")
	s.op("ADDQ hopperWide_panel(AX), SI")
	s.op("DECQ R12")
	s.op("JNZ tile")
	if !h.zmm {
		s.op("LDMXCSR 8(SP)")
	}
	s.ret()
}

// decode writes the decoding of one half vector at from, to float64 at to. Its exponents, as integers, are in half 1:
// the field of a float32, or that of the smallest normal number of the type in half 3. Zeros are marked in half 2.
func (h wide) decode(s *source, from, to string) {
	s.op("VMOVDQU %s, %s", from, h.half(0))
	s.op("VPADDD %s, %s, %s", h.half(0), h.half(0), h.half(1))
	s.op("VCVTPS2PD %s, %s", h.half(0), h.tmp(0))
	s.op("VMOVUPD %s, %s", h.tmp(0), to)
	s.op("VPXOR %s, %s, %s", h.half(2), h.half(2), h.half(2))
	s.op("VPCMPEQD %s, %s, %s", h.half(2), h.half(1), h.half(2))
	s.op("VPSRLD $24, %s, %s", h.half(1), h.half(1))
	s.op("VPMAXSD %s, %s, %s", h.half(3), h.half(1), h.half(1))
}

// decodeA writes the decoding of a panel at SI.
func (h wide) decodeA(s *source) {
	s.load("c", "AX")
	s.op("VPBROADCASTD hopperWide_normalA(AX), %s", h.half(3))
	s.op("MOVQ hopperWide_depth(AX), R9")
	s.op("MOVQ SI, R14")
	s.op("XORQ DX, DX")
	s.label("panelA")
	h.decode(s, "(R14)", fmt.Sprintf("%d(BX)(DX*2)", h.a()))
	s.op("VPBLENDVB %s, ·hopperNone<>(SB), %s, %s", h.half(2), h.half(1), h.half(1))
	s.op("VPSLLD $16, %s, %s", h.half(1), h.half(0))
	s.op("VPBLENDW $0xaa, %s, %s, %s", h.half(0), h.half(1), h.half(1))
	s.op("VMOVDQU %s, %d(BX)(DX*1)", h.half(1), h.aexp())
	s.op("ADDQ $%d, R14", 4*h.mr)
	s.op("ADDQ $%d, DX", 4*h.mr)
	s.op("DECQ R9")
	s.op("JNZ panelA")
}

// decodeB writes the decoding of a panel of B. Its exponents are less by the bias of a float32's field, so that the
// sum of one of A and one of B has one bias.
func (h wide) decodeB(s *source) {
	s.op("VPBROADCASTD hopperWide_normalB(AX), %s", h.half(3))
	s.fields("hopperWide", "AX", "depth", "R9", "b", "SI", "half", "DI")
	s.op("XORQ DX, DX")
	s.label("panelB")
	for v := range h.n() {
		column := v * h.lanes()
		from := fmt.Sprintf("%d(SI)", 4*(column%h.sub))
		if column >= h.sub {
			from += "(DI*1)"
		}
		h.decode(s, from, fmt.Sprintf("%d(BX)(DX*4)", h.b()+8*column))
		s.op("VPSUBD ·hopperBias<>(SB), %s, %s", h.half(1), h.half(1))
		s.op("VPBLENDVB %s, ·hopperNone<>(SB), %s, %s", h.half(2), h.half(1), h.half(1))
		if h.zmm {
			s.op("VEXTRACTI128 $1, Y1, X2")
			s.op("VPACKSSDW X2, X1, X1")
			s.op("VMOVDQU X1, %d(BX)(DX*1)", h.bexp()+2*column)
		} else {
			s.op("VPACKSSDW X13, X13, X13")
			s.op("VMOVQ X13, %d(BX)(DX*1)", h.bexp()+2*column)
		}
	}
	s.op("ADDQ $%d, SI", 4*h.sub)
	s.op("ADDQ $%d, DX", 2*h.nr())
	s.op("DECQ R9")
	s.op("JNZ panelB")
}

// start writes the accumulators that a tile starts from to the destination.
func (h wide) start(s *source) {
	s.op("MOVQ R10, R14")
	s.op("MOVQ $%d, R9", h.mr)
	s.op("TESTQ R8, R8")
	s.op("JNZ copy")
	s.op("VPXOR %s, %s, %s", h.half(0), h.half(0), h.half(0))
	s.label("zero")
	for v := range h.n() {
		s.op("VMOVDQU %s, %s", h.half(0), h.out("R14", v))
	}
	s.op("ADDQ R11, R14")
	s.op("DECQ R9")
	s.op("JNZ zero")
	s.op("JMP started")
	s.label("copy")
	for v := range h.n() {
		s.op("VMOVDQU %s, %s", h.out("R8", v), h.half(0))
		s.op("VMOVDQU %s, %s", h.half(0), h.out("R14", v))
	}
	s.op("ADDQ hopperWide_lds(AX), R8")
	s.op("ADDQ R11, R14")
	s.op("DECQ R9")
	s.op("JNZ copy")
	s.label("started")
}

// block writes the beginning of a loop over blocks of 8 products.
func (h wide) block(s *source, label string) {
	s.op("MOVQ DI, AX")
	s.op("MOVQ CX, DX")
	s.load("c", "R9")
	s.op("MOVQ hopperWide_blocks(R9), R9")
	s.label(label)
}

// next writes the end of such a loop.
func (h wide) next(s *source, label string) {
	s.op("ADDQ $%d, AX", 8*4*h.mr)
	s.op("ADDQ $%d, DX", 8*2*h.nr())
	s.op("DECQ R9")
	s.op("JNZ %s", label)
}

// exponents writes the largest exponents of the products of a row.
func (h wide) exponents(s *source) {
	for i := range 2 {
		h.bits(s, "VMOVDQU", "·hopperFloor<>(SB), %s", h.tmp(i))
	}
	h.block(s, "exponents")
	for k := range 8 {
		s.op("VPBROADCASTD %d(BX)(AX*1), %s", h.aexp()+4*k*h.mr, h.tmp(2))
		for i := range 2 {
			s.op("VPADDW %d(BX)(DX*1), %s, %s", h.bexp()+2*k*h.nr()+i*h.bytes(), h.tmp(2), h.tmp(3))
			s.op("VPMAXSW %s, %s, %s", h.tmp(3), h.tmp(i), h.tmp(i))
		}
	}
	h.next(s, "exponents")
	for i := range 2 {
		h.bits(s, "VMOVDQU", "%s, %s", h.tmp(i), h.row(i))
	}
}

// scales writes 2^(F-E), from the largest exponents and those of the accumulators that are not zero.
func (h wide) scales(s *source) {
	least := "·hopperLeastF32<>(SB)"
	if h.f16 {
		least = "·hopperLeastF16<>(SB)"
	}
	for v := range h.n() {
		t, u := h.half(2*(v%2)), h.half(2*(v%2)+1)
		s.op("VMOVDQU ·hopperMagnitude<>(SB), %s", t)
		s.op("VPAND %s, %s, %s", h.out("R14", v), t, t)
		s.op("VPXOR %s, %s, %s", u, u, u)
		s.op("VPCMPEQD %s, %s, %s", u, t, u)
		s.op("VPMAXSD %s, %s, %s", least, t, t)
		s.op("VPSRLD $23, %s, %s", t, t)
		s.op("VPBLENDVB %s, ·hopperNone<>(SB), %s, %s", u, t, t)
		s.op("VPMOVSXWD %d(BX), %s", 2*v*h.lanes(), u)
		s.op("VPMAXSD %s, %s, %s", u, t, t)
		s.op("VMOVDQU %s, %s", h.bias(), u)
		s.op("VPSUBD %s, %s, %s", t, u, t)
		s.op("VPMOVZXDQ %s, %s", t, h.tmp(2*(v%2)))
		s.op("VPSLLQ $52, %s, %s", h.tmp(2*(v%2)), h.scale(v))
	}
}

// terms writes the sums of the products.
func (h wide) terms(s *source) {
	for v := range h.n() {
		h.full(s, "VPXOR", "%s, %s, %s", h.sum(v), h.sum(v), h.sum(v))
	}
	h.block(s, "terms")
	for k := range 8 {
		s.op("VBROADCASTSD %d(BX)(AX*2), %s", h.a()+8*k*h.mr, h.tmp(0))
		for v := range h.n() {
			t := h.tmp(1 + v%3)
			s.op("VMULPD %d(BX)(DX*4), %s, %s", h.b()+8*(k*h.nr()+v*h.lanes()), h.tmp(0), t)
			s.op("VMULPD %s, %s, %s", h.scale(v), t, t)
			h.truncate(s, t)
			s.op("VADDPD %s, %s, %s", t, h.sum(v), h.sum(v))
		}
	}
	h.next(s, "terms")
}

// truncate writes the rounding of float64s to integers, toward zero.
func (h wide) truncate(s *source, t string) {
	op := "VROUNDPD"
	if h.zmm {
		op = "VRNDSCALEPD"
	}
	s.op("%s $11, %s, %s", op, t, t)
}

// finish writes the end of a step: an accumulator joins the sum, which becomes the accumulator.
func (h wide) finish(s *source, v int) {
	t, u, half := h.tmp(2*(v%2)), h.tmp(2*(v%2)+1), h.half(2*(v%2))
	sum, scale := h.sum(v), h.scale(v)
	s.op("VCVTPS2PD %s, %s", h.out("R14", v), t)
	s.op("VMULPD %s, %s, %s", scale, t, t)
	h.truncate(s, t)
	s.op("VADDPD %s, %s, %s", t, sum, t)
	h.bits(s, "VMOVDQU", "·hopperInverse64<>(SB), %s", u)
	s.op("VPSUBQ %s, %s, %s", scale, u, u)
	s.op("VMULPD %s, %s, %s", u, t, t)
	if h.f16 {
		s.comment("Rounded to odd, to be rounded rightly once more.")
		h.full(s, "VPAND", "·hopperDropped64<>(SB), %s, %s", t, u)
		s.op("VPADDQ ·hopperDropped64<>(SB), %s, %s", u, u)
		h.full(s, "VPAND", "·hopperLast64<>(SB), %s, %s", u, u)
		h.full(s, "VPOR", "%s, %s, %s", u, t, t)
	} else {
		h.full(s, "VPAND", "%s, %s, %s", h.kept(), t, t)
	}
	s.comment("What does not fit is infinite.")
	h.full(s, "VPAND", "·hopperMagnitude64<>(SB), %s, %s", t, u)
	if h.zmm {
		s.op("VCMPPD $13, ·hopperOverflow64<>(SB), %s, K1", u)
		s.op("VMULPD ·hopperInfinity64<>(SB), %s, K1, %s", t, t)
		s.op("VCVTPD2PS.RZ_SAE %s, %s", t, half)
	} else {
		s.op("VCMPPD $13, ·hopperOverflow64<>(SB), %s, %s", u, u)
		s.op("VMULPD ·hopperInfinity64<>(SB), %s, %s", t, sum)
		s.op("VBLENDVPD %s, %s, %s, %s", u, sum, t, t)
		s.op("VCVTPD2PSY %s, %s", t, half)
	}
	if h.f16 {
		s.op("VCVTPS2PH $0, %s, X%s", half, half[1:])
		s.op("VCVTPH2PS X%s, %s", half[1:], half)
	}
	s.op("VMOVUPS %s, %s", half, h.out("R14", v))
}
