package main

import "fmt"

// The packers of A for AMX write lines of 64 bytes, 32 elements of K of one row; 16 lines are a tile, and a panel is
// one tile after the other.
//
// AMX waits for what is packed, so how memory is read decides. It gives rows of several lines twice as fast as single
// lines, also where each row lies on a page of its own (an Emerald Rapids, by plain loads: 30 against 16 GB/s).
// There, prefetches of rows to come make it slower: rows whole pages apart share a set of the first cache.

func writeAMXPacks(s *source) {
	packLines(s)
	packPairs16(s)
	for _, panels := range []int{4, 8} {
		packWide(s, panels)
	}
	s.words("interleave", interleave())
}

// packLines writes a packer of one tile row from rows of contiguous K: a copy of lines.
//
//	SI source   R9 stride   R10 rows   CX elements of K left   DI tile
//	AX row   DX line   BX rows left   K3 elements that exist   Z31 zero
func packLines(s *source) {
	s.function("packAlong512Tiles", "dst, src unsafe.Pointer, stride, rows, k int", 0,
		"1 to 16 rows of contiguous K into tiles of 16 lines.")
	s.load("dst", "DI", "src", "SI", "stride", "R9", "rows", "R10", "k", "CX")
	s.op("VPXORD Z31, Z31, Z31")
	for _, lines := range []int{4, 1} {
		name := func(what string) string { return fmt.Sprint(what, lines) }
		s.op("SUBQ $%d, CX", 32*lines)
		s.op("JL %s", name("less"))
		s.label(name("loop"))
		s.op("MOVQ SI, AX")
		s.op("MOVQ DI, DX")
		s.op("MOVQ R10, BX")
		s.op("PCALIGN $64")
		s.label(name("row"))
		for i := range lines {
			s.op("VMOVDQU64 %d(AX), Z%d", 64*i, i)
		}
		for i := range lines {
			s.op("VMOVDQU64 Z%d, %d(DX)", i, i*tileBytes)
		}
		s.op("ADDQ R9, AX")
		s.op("ADDQ $64, DX")
		s.op("DECQ BX")
		s.op("JNZ %s", name("row"))
		s.label(name("zeros"))
		s.op("LEAQ %d(DI), BX", tileBytes)
		s.label(name("zero"))
		s.op("CMPQ DX, BX")
		s.op("JEQ %s", name("filled"))
		for i := range lines {
			s.op("VMOVDQU64 Z31, %d(DX)", i*tileBytes)
		}
		s.op("ADDQ $64, DX")
		s.op("JMP %s", name("zero"))
		s.label(name("filled"))
		s.op("ADDQ $%d, SI", 64*lines)
		s.op("ADDQ $%d, DI", lines*tileBytes)
		s.op("SUBQ $%d, CX", 32*lines)
		s.op("JGE %s", name("loop"))
		s.label(name("less"))
		s.op("ADDQ $%d, CX", 32*lines)
	}

	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.mask("CX", "DX", "K3")
	s.op("LEAQ %d(DI), BX", tileBytes)
	s.label("restRows")
	s.op("VMOVDQU16.Z (SI), K3, Z0")
	s.op("VMOVDQU64 Z0, (DI)")
	s.op("ADDQ R9, SI")
	s.op("ADDQ $64, DI")
	s.op("DECQ R10")
	s.op("JNZ restRows")
	s.label("restZero")
	s.op("CMPQ DI, BX")
	s.op("JEQ done")
	s.op("VMOVDQU64 Z31, (DI)")
	s.op("ADDQ $64, DI")
	s.op("JMP restZero")
	s.label("done")
	s.ret()
}

// packWide writes a packer of B, of several panels side by side at once: 4 or 8. k is even.
//
//	SI row   AX row after it   R9 stride   CX pairs of rows left   DI panel   R8 panel 4
//	R11, R12, R13 the distances to the next three
func packWide(s *source, panels int) {
	s.function(fmt.Sprint("packAcross512Pairsx32x", panels), "dst, src unsafe.Pointer, stride, k, panel int", 0,
		fmt.Sprint(32*panels, " columns of pairs of rows into ", panels, " panels."))
	s.load("dst", "DI", "src", "SI", "stride", "R9", "k", "CX", "panel", "R11")
	s.op("VMOVDQU64 ·interleave<>+0(SB), Z30")
	s.op("VMOVDQU64 ·interleave<>+64(SB), Z31")
	s.op("LEAQ (R11)(R11*1), R12")
	s.op("LEAQ (R12)(R11*1), R13")
	s.op("LEAQ (DI)(R11*4), R8")
	s.op("SHRQ $1, CX")
	s.op("JZ done")
	s.op("PCALIGN $64")
	s.label("loop")
	s.op("LEAQ (SI)(R9*1), AX")
	at := func(panel int) string {
		return []string{"(DI)", "(R8)"}[panel/4] + []string{"", "(R11*1)", "(R12*1)", "(R13*1)"}[panel%4]
	}
	for j := range panels {
		// The line of the last byte, as that of the first has come with the columns before if it begins there.
		s.op("VMOVDQU64 %d(SI), Z%d", 64*j, 3*j)
		s.op("PREFETCHT0 %d(SI)(R9*8)", 64*j+63)
		s.op("VMOVDQU64 %d(AX), Z%d", 64*j, 3*j+1)
		s.op("PREFETCHT0 %d(AX)(R9*8)", 64*j+63)
	}
	for j := range panels {
		s.interleave(3*j, 3*j+1, 3*j+2)
		s.op("VMOVDQU64 Z%d, %s", 3*j, at(j))
		s.op("VMOVDQU64 Z%d, 64%s", 3*j+2, at(j))
	}
	s.op("LEAQ (SI)(R9*2), SI")
	s.op("ADDQ $128, DI")
	s.op("ADDQ $128, R8")
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.ret()
}

// packPairs16 writes a packer of one tile row from rows of K: pairs of rows become words, which are transposed.
//
//	SI source   R9 stride   CX elements of K left   DI tile
//	K1 columns that exist   BX the same   K2 those of a row that may be beyond K
func packPairs16(s *source) {
	s.function("packAcross512Tiles", "dst, src unsafe.Pointer, stride, n, k int", 0,
		"1 to 16 columns into tiles of 16 lines.")
	s.load("dst", "DI", "src", "SI", "stride", "R9", "n", "R10", "k", "CX")
	s.mask("R10", "BX", "K1")
	block := func(row func()) {
		for i := range 16 {
			row()
			s.op("VPMOVZXWD.Z (SI), K2, Z%d", i)
			s.op("PREFETCHT0 32(SI)")
			s.op("ADDQ R9, SI")
			row()
			s.op("VPMOVZXWD.Z (SI), K2, Z16")
			s.op("PREFETCHT0 32(SI)")
			s.op("ADDQ R9, SI")
			s.op("VPSLLD $16, Z16, Z16")
			s.op("VPORD Z16, Z%d, Z%d", i, i)
		}
		s.op("KXNORQ K2, K2, K2")
		for i, reg := range transpose16x16(s, "K2") {
			s.op("VMOVDQU64 Z%d, %d(DI)", reg, 64*i)
		}
	}
	s.op("SUBQ $32, CX")
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("loop")
	s.op("KMOVQ K1, K2")
	block(func() {})
	s.op("ADDQ $%d, DI", tileBytes)
	s.op("SUBQ $32, CX")
	s.op("JGE loop")

	s.label("rest")
	s.op("ADDQ $32, CX")
	s.op("JLE done")
	s.comment("A row beyond K has no columns.")
	s.op("XORQ DX, DX")
	n := 0
	block(func() {
		s.op("CMPQ CX, $%d", n)
		s.op("CMOVQLE DX, BX")
		s.op("KMOVQ BX, K2")
		n++
	})
	s.label("done")
	s.ret()
}
