package main

import "fmt"

// packs512 are the packers with AVX-512. Along transposes: its source has K along the rows. Across copies: its source
// has K across the rows, stride bytes apart. They are made for all forms and these widths of a panel. Those of float64
// have half the rows; across, they are panels of twice as many words.
var packs512 = []int{8, 32}

func writePacks512(s *source) {
	for _, width := range packs512 {
		for _, f := range anyForm {
			transpose512(s, f, width)
			copy512(s, f, width)
		}
	}
	transpose512(s, doubles, 8)
	transpose512(s, doubles, 16)
	copy512(s, words, 16)
	s.words("interleave", interleave())
}

const (
	packTParams = "dst, src unsafe.Pointer, stride, rows, k int"
	packSParams = "dst, src unsafe.Pointer, stride, n, k, panel int"
)

// transpose512 writes a packer of one panel of 8 or 32 words from rows of contiguous K, in blocks of 16 words of K. A
// panel of 32 is packed in two passes of 16 rows: processors do not keep track of 32 streams. Of float64 a panel is 8
// or 16, in passes of 8 rows and blocks of 8, and each has two bits of the masks of rows.
//
// The addresses of the rows stand in a table on the stack in which the rows beyond the edge repeat the last one; what
// is read there is masked off in the last step of the transposition, so the edge costs nothing and reads nothing
// outside.
//
//	SI offset in a row   DI dst   CX elements of K left   BX 0 or, in the second pass, 64
//	K1 rows that exist in this pass   K2 in the next   K3 elements that exist
func transpose512(s *source, f form, width int) {
	s.function(fmt.Sprintf("packAlong512%sx%d", f.name, width), packTParams, 8*width,
		fmt.Sprintf("One panel of %d.", width))
	s.load("src", "AX", "stride", "R9", "rows", "R10")
	s.op("XORQ BX, BX")
	s.label("table")
	s.op("MOVQ AX, (SP)(BX*8)")
	s.op("INCQ BX")
	s.op("CMPQ BX, R10")
	s.op("JGE repeat")
	s.op("ADDQ R9, AX")
	s.label("repeat")
	s.op("CMPQ BX, $%d", width)
	s.op("JLT table")

	if f == doubles {
		s.op("ADDQ R10, R10")
	}
	s.mask("R10", "DX", "K1")
	pitch := f.word() * width         // bytes between the steps of K in dst
	pass := min(pitch, 64) / f.word() // rows
	if pitch == 32 {
		pass, pitch = 8, 32
		s.comment("A vector of the panel holds two steps of K.")
		s.op("ANDQ $255, DX")
		s.op("MOVQ DX, BX")
		s.op("SHLQ $8, BX")
		s.op("ORQ BX, DX")
		s.op("KMOVQ DX, K1")
	} else {
		s.op("SHRQ $16, DX")
		s.op("KMOVQ DX, K2")
	}
	s.op("XORQ BX, BX")
	s.label("pass")
	s.load("dst", "DI")
	s.load("k", "CX")
	s.op("ADDQ BX, DI")
	f.pass512(s, pass, pitch)
	s.label("done")
	if pitch == 128 {
		s.op("KMOVQ K2, K1")
		s.op("ADDQ $64, BX")
		s.op("CMPQ BX, $128")
		s.op("JLT pass")
	}
	s.ret()
}

// ahead is how far in bytes a transposing packer prefetches along each row: a stage takes a short piece of many rows,
// too short for the hardware to find its streams.
const ahead = 256

// pass512 packs rows rows, 8 or 16, of all K, and goes to done.
func (f form) pass512(s *source, rows, pitch int) {
	steps := 64 / f.word()
	block := steps * f.kpack // elements of K
	transpose := transpose16x16
	switch {
	case f == doubles:
		transpose = transpose8x8
	case rows == 8:
		transpose = transpose8x16
	}
	load := func(mask string) {
		for i := range rows {
			s.op("MOVQ %d(SP)(BX*%d), AX", 8*i, 8/f.word())
			f.load512(s, "(AX)(SI*1)", mask, i)
			if mask == "" {
				s.op("PREFETCHT0 %d(AX)(SI*1)", ahead)
			}
		}
	}
	s.op("XORQ SI, SI")
	s.op("SUBQ $%d, CX", block)
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("loop")
	load("")
	for i, reg := range transpose(s, "K1") {
		s.op("VMOVDQU32 Z%d, %d(DI)", reg, i*max(pitch, 64))
	}
	s.op("ADDQ $%d, SI", block*f.bytes)
	s.op("ADDQ $%d, DI", steps*pitch)
	s.op("SUBQ $%d, CX", block)
	s.op("JGE loop")

	s.label("rest")
	s.op("ADDQ $%d, CX", block)
	s.op("JLE done")
	s.mask("CX", "DX", "K3")
	if f.kpack == 2 {
		s.op("INCQ CX")
		s.op("SHRQ $1, CX")
	}
	s.comment("CX steps of K are left.")
	load("K3")
	columns := transpose(s, "K1")
	if pitch >= 64 {
		for i, reg := range columns {
			s.op("VMOVDQU32 Z%d, %d(DI)", reg, i*pitch)
			s.op("CMPQ CX, $%d", i+1)
			s.op("JE done")
		}
		return
	}
	for i, reg := range columns {
		s.op("CMPQ CX, $%d", 2*i+2)
		s.op("JLT last%d", i)
		s.op("VMOVDQU32 Z%d, %d(DI)", reg, 64*i)
	}
	s.op("JMP done")
	for i, reg := range columns {
		s.label(fmt.Sprintf("last%d", i))
		s.op("TESTQ $1, CX")
		s.op("JZ done")
		s.op("VMOVDQU32 Y%d, %d(DI)", reg, 64*i)
		s.op("JMP done")
	}
}

// copy512 writes a packer from rows of K: of 32 columns at a time, which are one panel of 32, two of 16 or four of 8,
// so that a cache line of the source is read once. n of the 32 columns exist; the panels lie panel bytes apart.
//
// Of several panels those that are not there share the address of the last one that is, and are written before it: what
// is written for them is overwritten.
//
//	SI source   R9 stride   DX elements of K left   DI R10 R11 R12 panels   R13 offset in a panel
//	K1 columns that exist (for pairs all, otherwise 0..15)   K2 columns 16..31
//	K3 columns of the second row of a pair
func copy512(s *source, f form, width int) {
	name := fmt.Sprintf("packAcross512%sx%d", f.name, width)
	s.function(name, packSParams, 0, fmt.Sprintf("%d columns into panels of %d.", 32, width))
	s.load("dst", "DI", "src", "SI", "stride", "R9", "n", "AX", "k", "DX", "panel", "BX")
	s.mask("AX", "CX", "K1")
	if f.kpack == 1 {
		s.op("SHRQ $16, CX")
		s.op("KMOVQ CX, K2")
	} else {
		s.op("VMOVDQU32 ·interleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·interleave<>+64(SB), Z31")
	}
	if width < 32 {
		s.op("DECQ AX")
		for i, panel := range panels[1 : 32/width] {
			s.op("MOVQ %s, %s", panels[i], panel)
			s.op("CMPQ AX, $%d", width*(i+1))
			s.op("JLT clamp%d", i)
			s.op("ADDQ BX, %s", panel)
			s.label(fmt.Sprintf("clamp%d", i))
		}
	}
	s.op("XORQ R13, R13")
	s.op("SUBQ $%d, DX", 2*f.kpack)
	s.op("JL rest")

	s.op("PCALIGN $64")
	s.label("loop")
	f.step512(s, 0, "K1")
	f.step512(s, 4, "K1")
	switch width {
	case 8:
		for i := 3; i >= 0; i-- {
			half := []string{"$0x44", "$0xee"}[i%2]
			s.op("VSHUFI64X2 %s, Z%d, Z%d, Z%d", half, 4+i/2, i/2, 8+i)
			s.op("VMOVDQU32 Z%d, (%s)(R13*1)", 8+i, panels[i])
		}
		s.op("ADDQ $64, R13")
	case 16:
		for i, reg := range []int{1, 5, 0, 4} {
			s.op("VMOVDQU32 Z%d, %d(%s)(R13*1)", reg, i%2*64, panels[1-i/2])
		}
		s.op("ADDQ $128, R13")
	default:
		for i, reg := range []int{0, 1, 4, 5} {
			s.op("VMOVDQU32 Z%d, %d(DI)(R13*1)", reg, 64*i)
		}
		s.op("ADDQ $256, R13")
	}
	s.op("SUBQ $%d, DX", 2*f.kpack)
	s.op("JGE loop")

	s.label("rest")
	s.op("ADDQ $%d, DX", 2*f.kpack)
	s.op("JLE done")
	if f.kpack == 1 {
		f.step512(s, 0, "")
		f.store512(s, width)
	} else {
		s.label("one")
		s.comment("An odd K has no second row: no column of it exists.")
		s.op("KMOVQ K1, K3")
		s.op("CMPQ DX, $1")
		s.op("JGT both")
		s.op("KXORQ K3, K3, K3")
		s.label("both")
		f.step512(s, 0, "K3")
		f.store512(s, width)
		s.op("SUBQ $2, DX")
		s.op("JG one")
	}
	s.label("done")
	s.ret()
}

// prefetchNext prefetches the bytes that follow n bytes at SI, as many.
func (s *source) prefetchNext(n int) {
	for o := n; o < 2*n; o += 64 {
		s.op("PREFETCHT0 %d(SI)", o)
	}
}

// panels are the registers that hold the addresses of up to four panels.
var panels = [4]string{"DI", "R10", "R11", "R12"}

// step512 loads a step of K, 32 words, into Z(reg) and Z(reg+1) and advances the source. second is the mask of the
// second row of a pair. It prefetches the columns of the next panels: the rows are too far apart for the hardware to
// see that they follow.
func (f form) step512(s *source, reg int, second string) {
	if f.kpack == 2 {
		f.load512(s, "(SI)", "K1", reg)
		f.load512(s, "(SI)(R9*1)", second, reg+2)
		s.op("PREFETCHT0 64(SI)")
		s.op("PREFETCHT0 64(SI)(R9*1)")
		s.op("LEAQ (SI)(R9*2), SI")
		s.interleave(reg, reg+2, reg+1)
		return
	}
	f.load512(s, "(SI)", "K1", reg)
	f.load512(s, fmt.Sprintf("%d(SI)", 16*f.bytes), "K2", reg+1)
	s.prefetchNext(32 * f.bytes)
	s.op("ADDQ R9, SI")
}

// store512 stores the single step of K in Z0 and Z1 and advances the offset.
func (f form) store512(s *source, width int) {
	switch width {
	case 8:
		s.op("VEXTRACTI64X4 $1, Z1, (R12)(R13*1)")
		s.op("VMOVDQU32 Y1, (R11)(R13*1)")
		s.op("VEXTRACTI64X4 $1, Z0, (R10)(R13*1)")
		s.op("VMOVDQU32 Y0, (DI)(R13*1)")
		s.op("ADDQ $32, R13")
	case 16:
		s.op("VMOVDQU32 Z1, (R10)(R13*1)")
		s.op("VMOVDQU32 Z0, (DI)(R13*1)")
		s.op("ADDQ $64, R13")
	default:
		s.op("VMOVDQU32 Z0, (DI)(R13*1)")
		s.op("VMOVDQU32 Z1, 64(DI)(R13*1)")
		s.op("ADDQ $128, R13")
	}
}
