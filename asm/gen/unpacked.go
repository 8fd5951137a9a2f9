package main

import "fmt"

// An unpackedKernel reads both operands as they lie, for as many columns as its vectors have; see UnpackedFunc. A last vector of 512
// bits is masked, and has half the width if it is short; one of 256 bits is masked if it is short.
type unpackedKernel struct {
	kernel
	across, short bool // K lies across the rows of A; see above
}

// unpackedKernels returns the kernels of all shapes, up to the largest tile that leaves registers for a row of B and what else
// there is: the broadcast words of A and, with AVX2, the mask.
func unpackedKernels() (ks []unpackedKernel) {
	for _, k := range []kernel{{name: "AVX512", mr: 8, vecs: 3, zmm: true}, {name: "AVX2", mr: 6, vecs: 2}} {
		most := k.vecs
		for k.vecs = 1; k.vecs <= most; k.vecs++ {
			for _, across := range []bool{false, true} {
				ks = append(ks, unpackedKernel{k, across, false}, unpackedKernel{k, across, true})
			}
		}
	}
	return ks
}

// prefix returns the start of the kernel's name.
func (k unpackedKernel) prefix() string {
	name := "unpacked"
	if k.across {
		name += "Across"
	}
	if k.short {
		name += "Short"
	}
	return fmt.Sprintf("%s%d", name, k.vecs)
}

// crossA is rows of words of a step each, side by side; ld is a register for the bytes from one to the next.
type crossA struct{ at, ld string }

// word knows the first step only, as there is no register for the others.
func (a crossA) word(u, i int) string { return fmt.Sprintf("%d(%s)", 4*i, a.at) }

func (a crossA) advance(s *source, n int) {
	for range n {
		s.op("ADDQ %s, %s", a.ld, a.at)
	}
}

func (a crossA) fold() int { return 0 }

// unpackedAhead is how many rows of K a kernel prefetches ahead: rows far apart are nothing that the processor would fetch by itself.
// Those a power of two apart share a set of the cache, where 8 ahead would take the places of 8 that are needed again.
const unpackedAhead = 4

// mul writes the kernel, a loop over K for each number of rows that a tile may have.
//
//	BX rows left   CX steps left   SI A   DX its fifth row   DI B   R8 A of the tile   R9 ldb   R10 dst   R11 ldd   R12 lda   R13 3·lda
//	AX bytes from A of a tile to that of the next   K1 or the last register: mask of the last vector
func (k unpackedKernel) mul(s *source) {
	s.function(k.prefix()+k.name, "r, m, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd, last int", 0,
		fmt.Sprintf("%d vectors of columns, r rows of m at a time.", k.vecs))
	if k.masks() {
		s.load(9, "last", "CX")
	}
	switch {
	case k.zmm:
		s.op("MOVQ $-1, AX")
		s.op("SHLQ CX, AX")
		s.op("NOTQ AX")
		s.op("KMOVW AX, K1")
	case k.short:
		s.op("NEGQ CX")
		s.op("LEAQ ·firstWords<>+32(SB), AX")
		s.op("VMOVDQU (AX)(CX*4), %s", k.mask())
	}
	s.load(0, "r", "AX", "m", "BX")
	s.load(3, "a", "R8", "lda", "R12")
	s.load(6, "ldb", "R9", "dst", "R10", "ldd", "R11")
	if !k.across {
		s.op("LEAQ (R12)(R12*2), R13")
	}
	for r := 1; r < k.mr; r++ {
		s.op("CMPQ AX, $%d", r)
		s.op("JEQ rows%d", r)
	}
	for r := k.mr; r > 0; r-- {
		k.rows(s, r)
	}
	s.label("done")
	s.ret()
}

// rows writes the tiles of r rows.
func (k unpackedKernel) rows(s *source, r int) {
	var a operandA = rowsA{"SI", "DX", "R12", "R13", r}
	s.label(fmt.Sprintf("rows%d", r))
	if k.across {
		a = crossA{"SI", "R12"}
		s.op("MOVQ $%d, AX", 4*r)
	} else {
		s.op("IMULQ R12, AX")
	}
	s.label(fmt.Sprintf("tile%d", r))
	s.op("MOVQ k+16(FP), CX")
	s.op("MOVQ b+40(FP), DI")
	s.op("MOVQ R8, SI")
	if rows, ok := a.(rowsA); ok {
		rows.tile(s)
	}
	for i := range r * k.vecs {
		k.zero(s, i)
	}
	s.op("PCALIGN $32")
	s.label(fmt.Sprintf("loop%d", r))
	k.row(s, a, r)
	s.op("DECQ CX")
	s.op("JNZ loop%d", r)
	for i := range r {
		for v := range k.vecs {
			k.move(s, v, false, k.column(i*k.vecs+v, v), fmt.Sprintf("%d(R10)", v*k.bytes()))
		}
		s.op("ADDQ R11, R10")
	}
	s.op("ADDQ AX, R8")
	s.op("SUBQ $%d, BX", r)
	s.op("JNZ tile%d", r)
	if r > 1 {
		s.op("JMP done")
	}
}

// row writes the products of r words of A and a row of B.
func (k unpackedKernel) row(s *source, a operandA, r int) {
	b0 := k.mr * k.vecs
	bcast := b0 + k.vecs
	spare := k.registers() - bcast
	if !k.zmm && k.masks() {
		spare--
	}
	for v := range k.vecs {
		k.move(s, v, true, fmt.Sprintf("%d(DI)", v*k.bytes()), k.column(b0+v, v))
	}
	for v := range k.vecs {
		s.op("PREFETCHT0 %d(DI)(R9*%d)", v*k.bytes(), unpackedAhead)
	}
	s.op("ADDQ R9, DI")
	for i := range r {
		w := bcast + i%spare
		s.op("VBROADCASTSS %s, %s", a.word(0, i), k.reg(w))
		for v := range k.vecs {
			s.op("VFMADD231PS %s, %s, %s", k.column(w, v), k.column(b0+v, v), k.column(i*k.vecs+v, v))
		}
	}
	a.advance(s, 1)
}

// column returns the name of vector register i, which holds something of the columns of vector v.
func (k unpackedKernel) column(i, v int) string {
	if k.zmm && k.short && v == k.vecs-1 {
		return fmt.Sprintf("Y%d", i)
	}
	return k.reg(i)
}

// masks reports whether the last vector is masked, and mask returns the register of the mask.
func (k unpackedKernel) masks() bool { return k.zmm || k.short }
func (k unpackedKernel) mask() string {
	if k.zmm {
		return "K1"
	}
	return k.reg(k.registers() - 1)
}

// move writes the move of vector v of a row between a register and memory, of which a load clears what is masked.
func (k unpackedKernel) move(s *source, v int, load bool, from, to string) {
	switch {
	case v < k.vecs-1 || !k.masks():
		s.op("VMOVUPS %s, %s", from, to)
	case !k.zmm:
		s.op("VMASKMOVPS %s, %s, %s", from, k.mask(), to)
	case load:
		s.op("VMOVUPS.Z %s, %s, %s", from, k.mask(), to)
	default:
		s.op("VMOVUPS %s, %s, %s", from, k.mask(), to)
	}
}

// firstWords has the masks of the first words of a vector of AVX2: that of n words begins n words before its middle.
func firstWords() (words []uint16) {
	for i := range 2 * 16 {
		words = append(words, [2]uint16{0xffff, 0}[i/16])
	}
	return words
}

// unpacked returns the file of these kernels.
func unpacked() []byte {
	var s source
	s.WriteString(header)
	for _, k := range unpackedKernels() {
		k.mul(&s)
	}
	s.words("firstWords", firstWords())
	return s.Bytes()
}
