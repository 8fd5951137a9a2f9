package main

import "fmt"

// lanesAcross writes the kernel for any vectors, also with elements beside those of others. It puts the elements of a
// piece, 16 words of every block, side by side as float32 or float64, those of all pieces of A and of B, and then sums
// every pair of vectors.
//
//	CX words left   R8 A   R9 B   DI what is side by side
func (k kernel) lanesAcross(s *source, f form) {
	side, elements, line := f, f.kpack*16, 16*k.word() // of a piece, and bytes of one of all blocks
	if f.kpack == 2 {
		side = bf16
	}
	const mxcsr = 256 // on the stack, after two tables
	s.function(fmt.Sprintf("lanesAcross%s%s", k.set(), f.name),
		"k, lanes int, a laned, b laned, sums, mem unsafe.Pointer", mxcsr+8, "Sums of 16 blocks side by side.")
	s.load("lanes", "R10")
	for table, of := range []string{"a", "b"} {
		s.load(of+"_block", "R9")
		s.blocks(128*table, of)
	}
	side.upperHalves(s)
	if f == tiles {
		s.asTiles(mxcsr)
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
		for half := range f.kpack {
			side.aside(s, 128*table, half*16)
		}
		s.op("ADDQ $%d, DI", elements*line)
		s.op("ADDQ R12, SI")
		s.op("ADDQ R13, R10")
		s.op("DECQ R11")
		s.op("JNZ piece_%s", of)
		s.op("ADDQ %s, %s", s.arg(of+"_next"), at)
	}
	s.comment("BX words of a step   SI DI vectors of A, B   R10 R11 of them left   " +
		"R12 R13 from element to element   R15 sums")
	s.op("MOVQ $16, BX")
	s.op("CMPQ CX, BX")
	s.op("CMOVQLT CX, BX")
	s.load("mem", "SI", "a_n", "R10", "a_element", "R12", "b_element", "R13", "sums", "R15")
	s.label("row")
	s.load("a_pieces", "DI", "b_n", "R11")
	s.op("IMULQ $%d, DI", elements*line)
	s.op("ADDQ %s, DI", s.arg("mem"))
	s.label("column")
	s.op("MOVQ SI, AX")
	s.op("MOVQ DI, DX")
	k.acrossWords(s, f)
	s.op("ADDQ $%d, R15", line)
	s.op("ADDQ %s, DI", s.arg("b_vector"))
	s.op("DECQ R11")
	s.op("JNZ column")
	s.op("ADDQ %s, SI", s.arg("a_vector"))
	s.op("DECQ R10")
	s.op("JNZ row")
	s.op("SUBQ $16, CX")
	s.op("JG loop")
	if f == tiles {
		s.op("LDMXCSR %d(SP)", mxcsr)
	}
	s.ret()
}

// acrossWords adds the products of BX words of the vectors at AX and DX to the sums at R15. R14 counts.
func (k kernel) acrossWords(s *source, f form) {
	const sum = 31 // with 512 bits
	even, odd := tileEven(sum), tileOdd(sum)
	vecs := 16 * k.word() / 32 // with 256
	next := func() {
		s.op("ADDQ R12, AX")
		s.op("ADDQ R13, DX")
	}
	s.op("MOVQ BX, R14")
	switch f {
	case pairs:
		s.op("VMOVUPS (R15), Z%d", sum)
		s.label("word")
		for o := range 2 { // the upper halves of float32 are bf16
			for i, at := range []string{"AX", "DX"} {
				if o == 0 {
					s.op("VPSRLD $16, (%s), Z%d", at, 16+i)
				} else {
					s.op("VPORD (%s), Z%d, Z%d", at, 16+i, 16+i)
				}
			}
			next()
		}
		k.multiply(s, sum, 16, 17)
	case tiles:
		s.op("VMOVUPS (R15), Z%d", sum)
		for _, z := range []int{even, odd} {
			k.zero(s, z)
		}
		s.label("word")
		for _, to := range []int{even, odd} {
			s.op("VMOVUPS (AX), Z20")
			s.op("VMOVUPS (DX), Z21")
			k.multiply(s, to, 20, 21)
			next()
		}
	default:
		for v := range vecs {
			s.op("VMOVUPS %d(R15), Y%d", 32*v, v)
		}
		s.label("word")
		for v := range vecs {
			s.op("VMOVUPS %d(AX), Y%d", 32*v, vecs+v)
			s.op("VMOVUPS %d(DX), Y%d", 32*v, 2*vecs+v)
			k.multiply(s, v, vecs+v, 2*vecs+v)
		}
		next()
	}
	s.op("DECQ R14")
	s.op("JNZ word")
	switch f {
	case pairs:
		s.op("VMOVUPS Z%d, (R15)", sum)
	case tiles:
		s.addTile(sum)
		s.op("VMOVUPS Z%d, (R15)", sum)
	default:
		for v := range vecs {
			s.op("VMOVUPS Y%d, %d(R15)", v, 32*v)
		}
	}
}

// aside puts 16 elements, from one on, of a piece at SI of 16 blocks side by side at DI, with a table of blocks, and
// brings as many bytes at R10 closer.
func (f form) aside(s *source, table, from int) {
	side := 32 / f.word() // of a square
	for at := 0; at < 16; at += side {
		for first := 0; first < 16; first += side {
			f.square(s, func(i int) string {
				s.op("MOVQ %d(SP), AX", table+8*(first+i))
				return fmt.Sprintf("%d(SI)(AX*1)", (from+at)*f.bytes)
			}, func(i int) {
				if line := at/side*16 + first + i; line < 16*16*f.bytes/64 {
					s.op("PREFETCHT1 %d(R10)", from*16*f.bytes+64*line)
				}
			}, func(w, reg int) { s.op("VMOVUPS Y%d, %d(DI)", reg, f.word()*(16*(from+at+w)+first)) })
		}
	}
}
