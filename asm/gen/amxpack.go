package main

// The packers of A for AMX write lines of 64 bytes, 32 elements of K of one row; 16 lines are a tile, and the tiles of one
// panel lie pitch bytes apart.

// packLines writes a packer of one tile row from rows of contiguous K: a copy of lines.
//
//	SI source   R9 stride   R10 rows   CX elements of K left   DI tile   R11 pitch
//	AX row   DX line   BX rows left   K3 elements that exist   Z31 zero
func packLines(s *source) {
	s.function("packLines", "dst, src unsafe.Pointer, stride, rows, k, pitch int", 0, "1 to 16 rows of contiguous K into tiles of 16 lines.")
	s.load(0, "dst", "DI", "src", "SI", "stride", "R9", "rows", "R10", "k", "CX", "pitch", "R11")
	s.op("VPXORD Z31, Z31, Z31")
	s.op("SUBQ $32, CX")
	s.op("JL rest")
	s.label("loop")
	s.op("MOVQ SI, AX")
	s.op("MOVQ DI, DX")
	s.op("MOVQ R10, BX")
	s.op("SUBQ $2, BX")
	s.op("JL one")
	s.op("PCALIGN $64")
	s.label("rows")
	s.op("VMOVDQU64 (AX), Z0")
	s.op("VMOVDQU64 (AX)(R9*1), Z1")
	s.op("PREFETCHT0 %d(AX)", ahead)
	s.op("PREFETCHT0 %d(AX)(R9*1)", ahead)
	s.op("VMOVDQU64 Z0, (DX)")
	s.op("VMOVDQU64 Z1, 64(DX)")
	s.op("LEAQ (AX)(R9*2), AX")
	s.op("ADDQ $128, DX")
	s.op("SUBQ $2, BX")
	s.op("JGE rows")
	s.label("one")
	s.op("TESTQ $1, BX")
	s.op("JZ zeros")
	s.op("VMOVDQU64 (AX), Z0")
	s.op("VMOVDQU64 Z0, (DX)")
	s.op("ADDQ $64, DX")
	s.label("zeros")
	s.op("LEAQ 1024(DI), BX")
	s.label("zero")
	s.op("CMPQ DX, BX")
	s.op("JEQ filled")
	s.op("VMOVDQU64 Z31, (DX)")
	s.op("ADDQ $64, DX")
	s.op("JMP zero")
	s.label("filled")
	s.op("ADDQ $64, SI")
	s.op("ADDQ R11, DI")
	s.op("SUBQ $32, CX")
	s.op("JGE loop")

	s.label("rest")
	s.op("ADDQ $32, CX")
	s.op("JLE done")
	s.mask("CX", "DX", "K3")
	s.op("LEAQ 1024(DI), BX")
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

// packPairs16 writes a packer of one tile row from rows of K: pairs of rows become words, which are transposed.
//
//	SI source   R9 stride   CX elements of K left   DI tile   R11 pitch
//	K1 columns that exist   BX the same   K2 those of a row that may be beyond K
func packPairs16(s *source) {
	s.function("packPairs16", "dst, src unsafe.Pointer, stride, n, k, pitch int", 0, "1 to 16 columns into tiles of 16 lines.")
	s.load(0, "dst", "DI", "src", "SI", "stride", "R9", "n", "R10", "k", "CX", "pitch", "R11")
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
	s.op("ADDQ R11, DI")
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
