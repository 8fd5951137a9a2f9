package main

import "fmt"

// copy512 writes a packer from rows of K: of 32 columns at a time, which are one panel of 32 or four panels of 8, so that
// a cache line of the source is read once. n of the 32 columns exist; the panels lie panel bytes apart.
//
// Of four panels those that are not there share the address of the last one that is, and are written before it: what is
// written for them is overwritten.
//
//	SI source   R9 stride   DX elements of K left   DI R10 R11 R12 panels   R13 offset in a panel
//	K1 columns that exist (for pairs all, otherwise 0..15)   K2 columns 16..31   K3 columns of the second row of a pair
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
	if width == 8 {
		s.op("DECQ AX")
		for i, panel := range []string{"R10", "R11", "R12"} {
			s.op("MOVQ %s, %s", []string{"DI", "R10", "R11"}[i], panel)
			s.op("CMPQ AX, $%d", 8*(i+1))
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
	if width == 8 {
		for i := 3; i >= 0; i-- {
			half := []string{"$0x44", "$0xee"}[i%2]
			s.op("VSHUFI64X2 %s, Z%d, Z%d, Z%d", half, 4+i/2, i/2, 8+i)
			s.op("VMOVDQU32 Z%d, (%s)(R13*1)", 8+i, panels[i])
		}
		s.op("ADDQ $64, R13")
	} else {
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

// panels are the registers that hold the addresses of four panels.
var panels = [4]string{"DI", "R10", "R11", "R12"}

// step512 loads a step of K, 32 words, into Z(reg) and Z(reg+1) and advances the source. second is the mask of the second row of
// a pair. It prefetches the columns of the next panels: the rows are too far apart for the hardware to see that they follow.
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
	if width == 8 {
		s.op("VEXTRACTI64X4 $1, Z1, (R12)(R13*1)")
		s.op("VMOVDQU32 Y1, (R11)(R13*1)")
		s.op("VEXTRACTI64X4 $1, Z0, (R10)(R13*1)")
		s.op("VMOVDQU32 Y0, (DI)(R13*1)")
		s.op("ADDQ $32, R13")
	} else {
		s.op("VMOVDQU32 Z0, (DI)(R13*1)")
		s.op("VMOVDQU32 Z1, 64(DI)(R13*1)")
		s.op("ADDQ $128, R13")
	}
}
