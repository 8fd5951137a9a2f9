package main

import "fmt"

// laned are the kernels that sum blocks of K side by side.
var laned = []struct {
	kernel kernel
	forms  []form
}{{kernels[0], []form{pairs}}, {kernels[1], asWords}, {kernels[2], asWords}}

func writeLanes(s *source) {
	for _, l := range laned {
		for _, f := range l.forms {
			l.kernel.lanes(s, f)
		}
	}
}

// lanes writes the kernel that goes on with the sums of 16 blocks of K, in the lanes of one vector or two; see
// LanesFunc. It puts the 16 words of a piece of every block side by side, those of all pieces of A and of B, and then
// sums every pair of vectors.
//
// How far the blocks are from the first stands in tables on the stack, in which those that do not exist repeat the
// last one.
//
//	CX words left   R8 A   R9 B   DI what is side by side
func (k kernel) lanes(s *source, f form) {
	s.function("lanes"+k.set()+f.name, "k, lanes int, a laned, b laned, sums, mem unsafe.Pointer", 256,
		"Sums of 16 blocks side by side.")
	s.load("lanes", "R10")
	for table, of := range []string{"a", "b"} {
		s.load(of+"_block", "R9")
		s.op("XORQ AX, AX")
		s.op("XORQ BX, BX")
		s.label("table_" + of)
		s.op("MOVQ AX, %d(SP)(BX*8)", 128*table)
		s.op("INCQ BX")
		s.op("CMPQ BX, R10")
		s.op("JGE repeat_%s", of)
		s.op("ADDQ R9, AX")
		s.label("repeat_" + of)
		s.op("CMPQ BX, $16")
		s.op("JLT table_%s", of)
	}
	if k.zmm {
		s.op("KXNORW K1, K1, K1")
	}
	s.load("k", "CX", "a_at", "R8", "b_at", "R9")
	s.label("loop")
	s.load("mem", "DI")
	for table, of := range []string{"a", "b"} {
		s.comment("SI piece   R10 as many bytes of the next 16 blocks, in order   " +
			"R11 pieces left   R12 R13 to the next")
		at := []string{"R8", "R9"}[table]
		s.op("MOVQ %s, SI", at)
		s.op("MOVQ %s, R10", at)
		s.op("SUBQ %s, R10", s.arg(of+"_at"))
		s.op("ADDQ %s, R10", s.arg(of+"_block"))
		s.op("SHLQ $4, R10")
		s.op("ADDQ %s, R10", s.arg(of+"_at"))
		s.load(of+"_pieces", "R11", of+"_apart", "R12", of+"_later", "R13")
		s.label("piece_" + of)
		k.aside(s, f, 128*table)
		s.op("ADDQ $1024, DI")
		s.op("ADDQ R12, SI")
		s.op("ADDQ R13, R10")
		s.op("DECQ R11")
		s.op("JNZ piece_%s", of)
		s.op("ADDQ %s, %s", s.arg(of+"_next"), at)
	}
	s.comment("BX words of a step   SI DI vectors of A, B   R10 R11 of them left   " +
		"R12 R13 from word to word   R15 sums")
	s.op("MOVQ $16, BX")
	s.op("CMPQ CX, BX")
	s.op("CMOVQLT CX, BX")
	s.load("mem", "SI", "a_n", "R10", "a_word", "R12", "b_word", "R13", "sums", "R15")
	s.label("row")
	s.load("a_pieces", "DI", "b_n", "R11")
	s.op("SHLQ $10, DI")
	s.op("ADDQ %s, DI", s.arg("mem"))
	s.label("column")
	s.op("MOVQ SI, AX")
	s.op("MOVQ DI, DX")
	vecs := 64 / k.bytes()
	for v := range vecs {
		s.op("VMOVUPS %d(R15), %s", v*k.bytes(), k.reg(v))
	}
	s.op("MOVQ BX, R14")
	s.label("word")
	for v := range vecs {
		s.op("VMOVUPS %d(AX), %s", v*k.bytes(), k.reg(2+v))
		s.op("VMOVUPS %d(DX), %s", v*k.bytes(), k.reg(4+v))
		k.multiply(s, v, 2+v, 4+v)
	}
	s.op("ADDQ R12, AX")
	s.op("ADDQ R13, DX")
	s.op("DECQ R14")
	s.op("JNZ word")
	for v := range vecs {
		s.op("VMOVUPS %s, %d(R15)", k.reg(v), v*k.bytes())
	}
	s.op("ADDQ $64, R15")
	s.op("ADDQ %s, DI", s.arg("b_vector"))
	s.op("DECQ R11")
	s.op("JNZ column")
	s.op("ADDQ %s, SI", s.arg("a_vector"))
	s.op("DECQ R10")
	s.op("JNZ row")
	s.op("SUBQ $16, CX")
	s.op("JG loop")
	s.ret()
}

// aside puts the words of a piece at SI of 16 blocks side by side at DI, with a table of blocks, and brings as many
// bytes at R10 closer.
func (k kernel) aside(s *source, f form, table int) {
	block := func(i int) {
		s.op("MOVQ %d(SP), AX", table+8*i)
	}
	fetch := func(i int) {
		if 64*i < 16*16*f.bytes*f.kpack {
			s.op("PREFETCHT1 %d(R10)", 64*i)
		}
	}
	if k.zmm {
		for i := range 16 {
			block(i)
			f.load512(s, "(SI)(AX*1)", "", i)
			fetch(i)
		}
		for w, reg := range transpose16x16(s, "K1") {
			s.op("VMOVUPS Z%d, %d(DI)", reg, 64*w)
		}
		return
	}
	f.upperHalves(s)
	for half := range 4 { // of blocks, then of words
		first, at := half%2*8, half/2*8
		f.transpose8x8(s, func(i int) string {
			block(first + i)
			return fmt.Sprintf("%d(SI)(AX*1)", at*f.bytes)
		}, func(i int) {
			if at == 0 {
				fetch(first + i)
			}
		}, func(w, reg int) { s.op("VMOVUPS Y%d, %d(DI)", reg, 64*(at+w)+4*first) })
	}
}
