package main

import "fmt"

// applyConsts are the rows of activateConst, which the steps of an activator name; see asm/activate.go for what they
// are.
var applyConsts = []string{
	"0", "0.5", "1", "rounding", "log2e", "ln2", "ln2Rest", "exp6", "exp5", "exp4", "exp3", "exp2",
	"expLeast", "tanhMost", "tanhUnit", "siluMost", "geluTanhMost", "geluTanh1", "geluTanh3",
	"geluMost", "geluUnit", "size", "sign",
}

// An activator writes a function of package asm that passes over rows: one loop for each step, between whose load and
// store a vector of elements is in register x. The eight registers from x on are for what it becomes, the others for
// constants.
type activator struct {
	*source
	vectors
	held map[string]int // registers of constants, of those of the loop under way
}

const (
	x = iota
	t1
	t2
	t3
	t4
	t5
	t6
	t7
	firstConst
	firstTable = 24 // rows of a table, where there are so many registers
)

func (a activator) lanes() int { return a.bytes() / 4 }

// v writes an instruction: registers are numbers, constants are strings.
func (a activator) v(name string, operands ...any) {
	text := name + " "
	for i, o := range operands {
		if i > 0 {
			text += ", "
		}
		switch o := o.(type) {
		case int:
			text += a.reg(o)
		case string:
			text += a.constant(o)
		}
	}
	a.op("%s", text)
}

// constant returns where a constant is: in a register if it is held, else in memory.
func (a activator) constant(name string) string {
	r, ok := a.held[name]
	switch {
	case ok:
		return a.reg(r)
	case a.zmm:
		panic("asm/gen: no register holds " + name)
	}
	return constantAt(name)
}

// constantAt returns where a constant is in memory, for each of eight lanes.
func constantAt(name string) string {
	for i, c := range applyConsts {
		if c == name {
			return fmt.Sprintf("%d(R12)", 32*i)
		}
	}
	panic("asm/gen: no constant " + name)
}

// hold loads constants to registers: all that a loop needs if there are enough, else those that come first.
func (a *activator) hold(names ...string) {
	held := map[string]int{}
	for i, name := range names {
		r := firstConst + i
		if !a.zmm && r > 15 {
			break
		}
		a.op("VBROADCASTSS %s, %s", constantAt(name), a.reg(r))
		held[name] = r
	}
	a.held = held
}

// holdTable loads a table to registers, if it fits.
func (a activator) holdTable(l loop) {
	for i := range l.rows {
		if a.zmm {
			a.op("VMOVUPS ·%s+%d(SB), %s", l.table, 64*i, a.reg(firstTable+i))
		}
	}
}

// A loop is one step: what it does to x with its part of the Vector, and then.
type loop struct {
	name   string
	first  string   // VADDPS, VMULPS
	consts []string // those that an instruction wants in a register first
	body   func(a activator)
	table  string
	rows   int
}

var loops = []loop{ // by number
	{"identity", "VADDPS", nil, func(a activator) {}, "", 0},
	{"relu", "VADDPS", []string{"0"}, func(a activator) { a.v("VMAXPS", x, "0", x) }, "", 0},
	{"gelu", "VADDPS", []string{"0", "0.5", "rounding", "size", "geluMost", "geluUnit"}, activator.gelu, "erfTable", 6},
	{"gelutanh", "VADDPS", append([]string{"0", "size", "geluTanhMost", "geluTanh1", "geluTanh3"}, expConsts...),
		activator.geluTanh, "", 0},
	{"silu", "VADDPS", append([]string{"0", "size", "siluMost"}, expConsts...), activator.silu, "", 0},
	{"sigmoid", "VADDPS", append([]string{"1", "expLeast", "sign"}, expConsts...), activator.sigmoid, "", 0},
	{"tanh", "VADDPS", []string{"tanhMost", "tanhUnit", "rounding", "size", "sign"}, activator.tanh, "tanhTable", 8},
	{"scale", "VMULPS", nil, func(a activator) {}, "", 0},
}

// expConsts are those of exp and sigmoidBelow, which had better be in registers first.
var expConsts = []string{"rounding", "log2e", "exp6", "ln2", "ln2Rest", "exp5", "exp4", "exp3", "exp2", "1"}

// bound leaves |x| in t1, or the most that matters of it.
func (a activator) bound(most string) {
	a.v("VANDPS", "size", x, t1)
	a.v("VPMINSD", most, t1, t1) // numbers without a sign are in the order of their bits; a NaN is above them
}

// gate leaves max(x, 0) - t·g in x.
func (a activator) gate(t, g int) {
	a.v("VMAXPS", x, "0", x)
	a.v("VFNMADD231PS", g, t, x)
}

func (a activator) gelu() {
	a.bound("geluMost")
	a.pieces("erfTable", 6, "geluUnit")
	a.v("VFNMADD213PS", "0.5", "0.5", t4)
	a.gate(t1, t4)
}

// pieces leaves in t4 the function of a table with so many rows, for t1.
func (a activator) pieces(table string, rows int, unit string) {
	a.v("VMOVAPS", "rounding", t2)
	a.v("VFMADD231PS", unit, t1, t2)
	a.v("VSUBPS", "rounding", t2, t3)
	a.v("VFMSUB231PS", unit, t1, t3) // r
	if !a.zmm {
		a.op("VPSLLD $28, %s, %s", a.reg(t2), a.reg(t5)) // bit 3 of the piece to the sign
	}
	a.piece(table, rows-1, t4)
	for i := rows - 2; i >= 0; i-- {
		a.piece(table, i, t6)
		a.v("VFMADD213PS", t6, t3, t4)
	}
}

// piece loads a coefficient of the pieces whose numbers are in t2.
func (a activator) piece(table string, row, to int) {
	if a.zmm {
		a.op("VPERMPS %s, %s, %s", a.reg(firstTable+row), a.reg(t2), a.reg(to))
		return
	}
	a.op("VPERMPS ·%s+%d(SB), %s, %s", table, 64*row, a.reg(t2), a.reg(to))
	a.op("VPERMPS ·%s+%d(SB), %s, %s", table, 64*row+32, a.reg(t2), a.reg(t7))
	a.v("VBLENDVPS", t5, t7, to, to)
}

// sigmoidBelow leaves e/(1 + e) in t4 with e = exp(z), for z ≤ 0 in t3; see exp.
func (a activator) sigmoidBelow() {
	a.exp()
	a.v("VADDPS", "1", t4, t6)
	a.v("VDIVPS", t6, t4, t4)
}

// exp leaves exp(z) in t4, for z in t3. It needs the registers but x and t1.
func (a activator) exp() {
	a.v("VMOVAPS", "rounding", t2)
	a.v("VFMADD231PS", "log2e", t3, t2)
	a.v("VSUBPS", "rounding", t2, t5) // n
	a.v("VFNMADD231PS", "ln2", t5, t3)
	a.v("VFNMADD231PS", "ln2Rest", t5, t3)
	a.v("VMOVAPS", "exp6", t4)
	for _, c := range []string{"exp5", "exp4", "exp3", "exp2"} {
		a.v("VFMADD213PS", c, t3, t4)
	}
	a.v("VMULPS", t3, t3, t6)
	a.v("VFMADD213PS", t3, t6, t4)
	a.v("VADDPS", "1", t4, t4)
	if a.zmm {
		a.v("VSCALEFPS", t5, t4, t4)
		return
	}
	// By 2^(n/2) twice, of which only the second may have to round: by the bits of n, which follow those of rounding.
	a.op("VPSRAD $1, %s, %s", a.reg(t2), a.reg(t5))
	a.v("VPSUBD", t5, t2, t2)
	for _, half := range []int{t5, t2} {
		a.op("VPSLLD $23, %s, %s", a.reg(half), a.reg(half))
		a.v("VPADDD", "1", half, half)
		a.v("VMULPS", half, t4, t4)
	}
}

func (a activator) geluTanh() {
	a.bound("geluTanhMost")
	a.v("VMULPS", t1, t1, t2)
	a.v("VMOVAPS", "geluTanh1", t3)
	a.v("VFMADD231PS", "geluTanh3", t2, t3)
	a.v("VMULPS", t1, t3, t3)
	a.sigmoidBelow()
	a.gate(t1, t4)
}

func (a activator) silu() {
	a.bound("siluMost")
	a.v("VSUBPS", t1, "0", t3)
	a.sigmoidBelow()
	a.gate(t1, t4)
}

func (a activator) sigmoid() {
	a.v("VORPS", "sign", x, t3)
	a.v("VMAXPS", t3, "expLeast", t3)
	a.exp()
	a.v("VADDPS", "1", t4, t6)
	if a.zmm {
		a.v("VMOVAPS", "1", t5)
		a.op("VPMOVD2M %s, K2", a.reg(x))
		a.op("VMOVAPS %s, K2, %s", a.reg(t4), a.reg(t5))
	} else {
		a.v("VBLENDVPS", x, t4, "1", t5)
	}
	a.v("VDIVPS", t6, t5, x)
}

func (a activator) tanh() {
	a.v("VANDPS", "size", x, t1)
	a.v("VMINPS", t1, "tanhMost", t1)
	a.pieces("tanhTable", 8, "tanhUnit")
	a.v("VANDPS", "sign", x, x)
	a.v("VORPS", t4, x, x)
}

// write writes the function.
//
//	DI dst   R8 ldd   SI src   R9 lds   BX rows left   DX cols   CX columns behind
//	R10 the Vector's row   R11 where in it
//	R13 bytes to its next lanes, or 0   R12 constants   K1 mask of the last columns
func (a *activator) write() {
	const params = "dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, " +
		"v unsafe.Pointer, vrow, vcol, how int, consts unsafe.Pointer"
	a.function("apply"+a.set(), params, 96, "applyGeneric, for rows and cols that are positive.")
	a.load("dst", "DI", "ldd", "R8", "src", "SI", "lds", "R9", "rows", "BX", "cols", "DX")
	a.load("v", "R10", "vcol", "R13", "how", "AX")
	a.op("IMULQ $%d, R13", a.lanes())
	a.op("MOVQ DX, CX")
	a.op("ANDQ $%d, CX", a.lanes()-1)
	if a.zmm {
		a.op("MOVQ $-1, R12")
		a.op("SHLQ CX, R12")
		a.op("NOTQ R12")
		a.op("KMOVW R12, K1")
	} else {
		a.op("LEAQ ·firstWords<>+32(SB), R12")
		a.op("NEGQ CX")
		a.op("VMOVDQU (R12)(CX*4), Y0")
		a.op("VMOVDQU Y0, mask-96(SP)")
	}
	a.load("consts", "R12")
	for i, l := range loops[1:] {
		a.op("CMPQ AX, $%d", i+1)
		a.op("JEQ %s", l.name)
	}
	for _, l := range loops {
		a.loop(l)
	}
}

// loop writes a loop over rows.
func (a *activator) loop(l loop) {
	label := func(part string) string { return l.name + part }
	a.label(l.name)
	a.hold(l.consts...)
	a.holdTable(l)
	a.label(label("row"))
	a.op("MOVQ R10, R11")
	a.op("TESTQ R13, R13")
	a.op("JNZ %s", label("cols"))
	a.op("VBROADCASTSS (R10), %s", a.reg(x))
	a.op("VMOVUPS %s, same-64(SP)", a.reg(x))
	a.op("LEAQ same-64(SP), R11")
	a.label(label("cols"))
	a.op("XORQ CX, CX")
	a.label(label("loop"))
	a.op("LEAQ %d(CX), AX", a.lanes())
	a.op("CMPQ AX, DX")
	a.op("JGT %s", label("part"))
	a.op("VMOVUPS (SI)(CX*4), %s", a.reg(x))
	a.op("%s (R11), %s, %s", l.first, a.reg(x), a.reg(x))
	a.label(label("both"))
	l.body(*a)
	a.op("CMPQ AX, DX")
	a.op("JGT %s", label("store"))
	a.op("VMOVUPS %s, (DI)(CX*4)", a.reg(x))
	a.op("MOVQ AX, CX")
	a.op("ADDQ R13, R11")
	a.op("CMPQ CX, DX")
	a.op("JLT %s", label("loop"))
	a.label(label("next"))
	a.op("ADDQ R8, DI")
	a.op("ADDQ R9, SI")
	a.op("ADDQ %s, R10", a.arg("vrow"))
	a.op("DECQ BX")
	a.op("JNZ %s", label("row"))
	a.ret()
	a.label(label("part"))
	if a.zmm {
		a.op("VMOVUPS.Z (SI)(CX*4), K1, %s", a.reg(x))
		a.op("%s (R11), %s, K1, %s", l.first, a.reg(x), a.reg(x))
	} else {
		a.op("VMOVDQU mask-96(SP), Y7")
		a.op("VMASKMOVPS (SI)(CX*4), Y7, Y0")
		a.op("VMASKMOVPS (R11), Y7, Y6")
		a.op("%s Y6, Y0, Y0", l.first)
	}
	a.op("JMP %s", label("both"))
	a.label(label("store"))
	if a.zmm {
		a.op("VMOVUPS %s, K1, (DI)(CX*4)", a.reg(x))
	} else {
		a.op("VMOVDQU mask-96(SP), Y7")
		a.op("VMASKMOVPS Y0, Y7, (DI)(CX*4)")
	}
	a.op("JMP %s", label("next"))
}

// writeActivations writes the functions that pass over rows.
func writeActivations(s *source) {
	for _, v := range []vectors{avx512, avx2} {
		a := activator{source: s, vectors: v}
		a.write()
	}
	s.words("firstWords", firstWords())
}
