package main

import "fmt"

// A hopperTile is the tile of the kernels of an instruction set. It is worked two rows at a time.
type hopperTile struct {
	vectors
	mr   int // rows
	vecs int // vectors in a row
	sub  int // columns of B side by side
}

var hopperTiles = []hopperTile{{avx512, 8, 4, 32}, {avx2, 4, 3, 24}}

// A hopper describes a kernel of Hopper's arithmetic to generate.
type hopper struct {
	hopperTile
	products int  // L: 8 of tf32, 16 of 16 bits, 32 of fp8
	f16      bool // accumulators are f16 numbers, as float32s, to which sums are rounded to nearest even
}

// fraction is F, for fp8 also the bits of the fraction of a result.
func (h hopper) fraction() int {
	if h.products == 32 {
		return 13
	}
	return 25
}

// hoppers are the kernels that each tile has.
var hoppers = []hopper{
	{products: 16}, {products: 8}, {products: 32}, {products: 16, f16: true}, {products: 32, f16: true},
}

// accumulators is the part of a name that says what they are, if not float32s.
func (h hopper) accumulators() string { return map[bool]string{true: "F16"}[h.f16] }

// writeHopper writes the kernels of Hopper's arithmetic.
func writeHopper(s *source) {
	for _, tile := range hopperTiles {
		for _, h := range hoppers {
			h.hopperTile = tile
			h.mul(s)
		}
	}
	for _, tile := range hopperTiles {
		tile.peak(s)
		tile.tame(s)
	}
	hopperPackers(s)
	s.dwords("exponentMask", 16, same(0xff<<23))
	s.dwords("hopperScale13", 16, same((254+13)<<23&0xffffffff))
	s.dwords("hopperScale25", 16, same((254+25)<<23&0xffffffff))
	s.dwords("hopperOne", 16, same(1))
	s.dwords("hopperResult13", 16, same(1<<32-1<<(23-13)))
	s.dwords("hopperInverse", 16, same(254<<23))
	s.dwords("hopperLeastF16", 16, same((127-14)<<23))
}

// dwords writes a read-only table of n 32-bit values.
func (s *source) dwords(name string, n int, value func(i int) uint32) {
	s.WriteByte('\n')
	for i := 0; i < n; i += 2 {
		fmt.Fprintf(s, "DATA ·%s<>+%d(SB)/8, $0x%08x%08x\n", name, 4*i, value(i+1), value(i))
	}
	fmt.Fprintf(s, "GLOBL ·%s<>(SB), RODATA|NOPTR, $%d\n", name, 4*n)
}

// same and same64 are tables of one value.
func same(value uint32) func(int) uint32 { return func(int) uint32 { return value } }
func same64(value uint64) func(int) uint32 {
	return func(i int) uint32 { return uint32(value >> (i % 2 * 32)) }
}

// pitch is the bytes of exponents of a step of k of B: a vector, which holds those of so many columns.
func (h hopper) pitch() int { return h.bytes() }

// acc is the accumulator of row r, vector v, in the destination.
func (h hopper) acc(r, v int) string { return h.tile("R10", "R11", r, v) }

// tile is the place of row r, vector v in a tile whose rows lie pitch bytes apart.
func (h hopper) tile(base, pitch string, r, v int) string {
	if r == 0 {
		return fmt.Sprintf("%d(%s)", v*h.bytes(), base)
	}
	return fmt.Sprintf("%d(%s)(%s*1)", v*h.bytes(), base, pitch)
}

// Places in the scratch memory, which starts on a multiple of a vector: the exponents of a row, the least exponent,
// what the exponents stand relative to, and with 256 bits which accumulators in f16 became infinite.
func (h hopper) scratch(i int) string { return fmt.Sprintf("%d(BX)", i*h.bytes()) }

// mul writes the strip kernel of steps steps of K; see hopperCall for what it is given.
//
//	AX offset in a panel of A   SI values   DX exponents, both of the first of two rows
//	DI values of B   R14 from there to the second half   CX exponents
//	R8 src   R9 lds   R10 dst   R11 ldd   BX scratch   R12 tiles left   R13 steps left
//	0(SP) header of A   8(SP) pairs of rows left   16(SP) DX   24(SP) MXCSR of the caller   28(SP) of the kernel
func (h hopper) mul(s *source) {
	width := h.bytes()
	const places = 4
	s.function(fmt.Sprintf("mulHopper%s%sx%d", h.set(), h.accumulators(), h.products), "c *hopperCall",
		32+(places+1)*width,
		fmt.Sprintf("%d × %d, steps of %d products.", h.mr, h.vecs*width/4, h.products))
	s.load("c", "AX")
	s.fields("hopperCall", "AX", "head", "DI", "a", "SI", "aexp", "DX",
		"src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11", "tiles", "R12")
	s.op("MOVQ DI, 0(SP)")
	s.op("LEAQ %d(SP), BX", 32+width-1)
	s.op("ANDQ $-%d, BX", width)
	if !h.zmm {
		s.comment("Integers become float32s rounded toward zero; everything else is exact.")
		s.op("STMXCSR 24(SP)")
		s.op("MOVL 24(SP), CX")
		s.op("ORL $0x6000, CX")
		s.op("MOVL CX, 28(SP)")
		s.op("LDMXCSR 28(SP)")
	}
	switch {
	case h.f16 && h.zmm:
		s.op("KXORW K2, K2, K2")
	case h.f16:
		s.op("VPXOR Y12, Y12, Y12")
		s.op("VMOVDQA Y12, %s", h.scratch(3))
	}

	s.label("tile")
	s.comment("The sum of the largest exponents; a byte e means e + sum - 126.")
	s.load("c", "AX")
	s.op("MOVQ 0(SP), DI")
	s.op("MOVLQSX (DI), CX")
	s.op("ADDQ hopperCall_bmax(AX), CX")
	s.op("ADDQ hopperCall_panel(AX), DI")
	s.op("MOVQ DI, 0(SP)")
	s.op("LEAQ 1(CX), DI")
	s.op("NEGQ CX")
	s.op("ADDQ $25, CX")
	for i, r := range []string{"CX", "DI"} {
		if h.zmm {
			s.op("VPBROADCASTB %s, Z%d", r, i)
		} else {
			s.op("VMOVQ %s, X%d", r, i)
			s.op("VPBROADCASTB X%d, Y%d", i, i)
		}
		h.bits(s, "VMOVDQA", "%s, %s", h.reg(i), h.scratch(1+i))
	}
	s.op("MOVQ $%d, 8(SP)", h.mr/2)

	s.label("pair")
	s.load("c", "AX")
	s.fields("hopperCall", "AX", "b", "DI")
	if h.zmm {
		s.fields("hopperCall", "AX", "half", "R14")
	}
	s.fields("hopperCall", "AX", "bexp", "CX", "steps", "R13")
	s.op("XORQ AX, AX")
	s.op("MOVQ DX, 16(SP)")
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	for r := range 2 {
		for v := range h.vecs {
			s.op("VMOVUPS %s, %s", h.tile("R8", "R9", r, v), h.tmp(0))
			s.op("VMOVUPS %s, %s", h.tmp(0), h.acc(r, v))
		}
	}
	s.op("LEAQ (R8)(R9*2), R8")
	s.op("JMP steps")
	s.label("zero")
	h.bits(s, "VPXOR", "%s, %s, %s", h.tmp(0), h.tmp(0), h.tmp(0))
	for r := range 2 {
		for v := range h.vecs {
			s.op("VMOVUPS %s, %s", h.tmp(0), h.acc(r, v))
		}
	}

	s.label("steps")
	h.steps(s)
	s.op("LEAQ (R10)(R11*2), R10")
	s.op("ADDQ $8, SI")
	s.op("MOVQ 16(SP), DX")
	s.op("ADDQ $8, DX")
	s.op("DECQ 8(SP)")
	s.op("JNZ pair")
	s.load("c", "AX")
	s.op("MOVQ hopperCall_panel(AX), CX")
	s.op("LEAQ %d(SI)(CX*1), SI", -4*h.mr)
	s.op("LEAQ %d(DX)(CX*1), DX", -4*h.mr)
	s.op("DECQ R12")
	s.op("JNZ tile")
	if !h.zmm {
		s.op("LDMXCSR 24(SP)")
	}
	if h.f16 {
		if h.zmm {
			s.op("KTESTW K2, K2")
		} else {
			s.op("VMOVDQA %s, Y12", h.scratch(3))
			s.op("VPTEST Y12, Y12")
		}
		s.op("JEQ done")
		s.load("c", "AX")
		s.op("MOVQ $1, hopperCall_infinite(AX)")
		s.label("done")
	}
	s.ret()
}

// column is the place of vector v of step k of B.
func (h hopper) column(k, v int) string {
	column := v * h.bytes() / 4
	offset := 4 * (k*h.sub + column%h.sub)
	if column >= h.sub {
		return fmt.Sprintf("%d(DI)(R14*1)", offset)
	}
	return fmt.Sprintf("%d(DI)", offset)
}

// peak writes the register-only loop of what a product takes: two multiplications, a conversion and an addition.
func (h hopperTile) peak(s *source) {
	n := h.peakAccs()
	s.function("peakHopper"+h.set(), "n int", 0, fmt.Sprintf("%d independent vectors of products a turn, n turns.", n))
	s.load("n", "CX")
	for i := range n + 2 {
		h.bits(s, "VPXOR", "%s, %s, %s", h.reg(i), h.reg(i), h.reg(i))
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.op("PCALIGN $64")
	s.label("loop")
	for i := range n {
		t := h.reg(n + 2 + i%2)
		s.op("VMULPS %s, %s, %s", h.reg(n), h.reg(n+1), t)
		s.op("VMULPS %s, %s, %s", h.reg(n), t, t)
		s.op("VCVTTPS2DQ %s, %s", t, t)
		s.op("VPADDD %s, %s, %s", t, h.reg(i), h.reg(i))
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.ret()
}

// peakAccs returns how many sums the peak loop has.
func (h hopperTile) peakAccs() int { return 2 * h.vecs }
