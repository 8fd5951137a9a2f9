package main

import "fmt"

func writeVectors(s *source) {
	avx512.vectorAlong(s)
	for _, k := range []kernel{words512, words256, doubles512, doubles256} {
		for vecs := range 2 * k.vecs {
			k.vectorPanels(s, 1+vecs)
		}
	}
	avx512.doubles().vectorAlong(s)
	s.words("firstWords", firstWords())
}

// vectorBlock is the words whose sums are a chain.
const vectorBlock = 256

// vectorAlong writes the kernel that multiplies a vector by rows along K, see VectorFunc: 16 of them at a time, or 8 of
// float64, each a lane of sums.
//
//	SI A   DX to its next word   DI, R8 every eighth row   R9, R10, R11, R12 1, 3, 5, 7 times the distance of rows
//	BX rows left   R15 words left   CX those of a block of sums   R13, R14 what is brought closer, as DI and R8
//	K1, K2 of what is left of a turn   K3 of the rows to be stored   Z0-Z23 see half   Z28 sums of a block
//	Z29 those of all
func (v vectors) vectorAlong(s *source) {
	rows := 64 / v.word() // and words of a turn
	s.function("vectorAlong"+kernel{vectors: v}.name(),
		"k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add, ahead int", 0,
		fmt.Sprintf("K words of A by n rows of B, %d or more.", rows))
	s.load("stepA", "DX", "b", "DI", "stride", "R9", "n", "BX")
	s.op("LEAQ (R9)(R9*2), R10")
	s.op("LEAQ (R9)(R9*4), R11")
	s.op("LEAQ (R10)(R9*4), R12")
	s.op("KXNORW K3, K3, K3")
	s.label("rows")
	s.load("a", "SI", "k", "R15", "ahead", "R13")
	s.op("LEAQ (DI)(R9*8), R8")
	s.op("LEAQ (R8)(R13*1), R14")
	s.op("ADDQ DI, R13")
	s.comment("To add to -0 changes nothing, not even a -0.")
	if v.f64 {
		s.op("MOVQ $0x8000000000000000, AX")
		s.op("VPBROADCASTQ AX, Z29")
	} else {
		s.op("MOVL $0x80000000, AX")
		s.op("VPBROADCASTD AX, Z29")
	}
	s.op("CMPQ %s, $0", s.arg("add"))
	s.op("JEQ block")
	s.load("dst", "AX")
	v.float(s, "VMOVUPS", "(AX), Z29")
	s.label("block")
	s.op("MOVQ $%d, CX", vectorBlock)
	s.op("CMPQ R15, CX")
	s.op("CMOVQLT R15, CX")
	s.op("SUBQ CX, R15")
	s.op("VPXORD Z28, Z28, Z28")
	s.op("SUBQ $%d, CX", rows)
	s.op("JLT rest")
	s.op("PCALIGN $32")
	s.label("loop")
	v.vectorWords(s, false)
	for i, r := range []string{"DI", "R8", "R13", "R14"} {
		if i%2 == 0 || rows > 8 {
			s.op("ADDQ $64, %s", r)
		}
	}
	s.op("SUBQ $%d, CX", rows)
	s.op("JGE loop")
	s.label("rest")
	s.op("ADDQ $%d, CX", rows)
	s.op("JZ sums")
	s.op("MOVQ $-1, AX")
	s.op("SHLQ CX, AX")
	s.op("NOTQ AX")
	s.op("KMOVB AX, K1")
	s.op("SHRQ $%d, AX", rows/2)
	s.op("KMOVB AX, K2")
	v.vectorWords(s, true)
	s.label("sums")
	v.float(s, "VADDPS", "Z29, Z28, Z29")
	s.op("TESTQ R15, R15")
	s.op("JNZ block")
	s.load("dst", "AX", "k", "CX", "b", "DI")
	v.float(s, "VMOVUPS", "Z29, K3, (AX)")
	s.op("SUBQ $%d, BX", rows)
	s.op("JZ done")
	s.comment(fmt.Sprintf("Of the last rows, if they are fewer than %d, some before them are multiplied again.", rows))
	s.op("MOVQ $%d, CX", rows)
	s.op("CMPQ BX, CX")
	s.op("JGE next")
	s.op("MOVQ BX, CX")
	s.op("MOVQ $%#x, R8", uint64(1<<rows-1)<<rows)
	s.op("SHRQ CX, R8")
	s.op("KMOVW R8, K3")
	s.op("MOVQ $%d, BX", rows)
	s.label("next")
	s.op("LEAQ (AX)(CX*%d), AX", v.word())
	s.op("MOVQ AX, %s", s.arg("dst"))
	s.op("IMULQ R9, CX")
	s.op("ADDQ CX, DI")
	s.op("MOVQ DI, %s", s.arg("b"))
	s.op("JMP rows")
	s.label("done")
	s.ret()
}

// vectorWords multiplies the words of K of a turn, or the CX that are left.
func (v vectors) vectorWords(s *source, rest bool) {
	each, transpose := 4, s.half // rows of which words are interleaved
	if v.f64 {
		each, transpose = 2, s.halfDoubles
	}
	index := [...]string{"", "(R9*1)", "(R9*2)", "(R10*1)", "(R9*4)", "(R11*1)", "(R10*2)", "(R12*1)"}
	for i := range each {
		for q := range 4 {
			n := q*each + i
			row := func(of [2]string, at int) string { return fmt.Sprintf("%d(%s)%s", at, of[n/8], index[n%8]) }
			for h := range 2 {
				addr, reg := row([2]string{"DI", "R8"}, 32*h), (2*h+q/2)*each+i
				switch {
				case rest && q%2 == 0:
					v.float(s, "VMOVUPS.Z", "%s, K%d, Y%d", addr, 1+h, reg)
				case rest:
					v.float(s, "VMOVUPS.Z", "%s, K%d, Y16", addr, 1+h)
					s.op("VINSERTF64X4 $1, Y16, Z%d, Z%d", reg, reg)
				case q%2 == 0:
					v.float(s, "VMOVUPS", "%s, Y%d", addr, reg)
				default:
					s.op("VINSERTF64X4 $1, %s, Z%d, Z%d", addr, reg, reg)
				}
			}
			if !rest {
				s.op("PREFETCHT1 %s", row([2]string{"R13", "R14"}, 0))
			}
		}
	}
	for h := range 2 {
		for _, b := range transpose(2*each*h, 16) {
			v.float(s, "VFMADD231PS.BCST", "(SI), Z%d, Z28", b)
			s.op("ADDQ DX, SI")
			if rest {
				s.op("DECQ CX")
				s.op("JZ sums")
			}
		}
	}
}

// vectorPanels writes the kernel that multiplies a vector by some vectors of columns of two panels, as many as it takes
// that sums do not wait for each other. It prefetches nothing: the processor sees that each panel is a stream, and to
// ask a cache for what it has takes as long as to read it.
//
//	SI A   R8 bytes to its next word   DI a panel   R9 from there to the other   BX words left   AX dst
//	K1 or the last register but one of AVX2: mask of the last vector
func (k kernel) vectorPanels(s *source, vecs int) {
	m := masked{k, !k.zmm, k.registers() - 2}
	m.mr, m.vecs = 1, vecs
	word := k.registers() - 1
	s.function(fmt.Sprintf("vectorPanels%sx%d", k.name(), vecs),
		"k int, a unsafe.Pointer, stepA int, b unsafe.Pointer, pitch int, dst unsafe.Pointer, last, add int", 0,
		fmt.Sprintf("K words of A by %d vectors of columns of two panels of B.", vecs))
	m.setMask(s)
	s.load("a", "SI", "stepA", "R8", "b", "DI", "pitch", "R9", "k", "BX", "dst", "AX")
	for v := range vecs {
		k.zero(s, v)
	}
	s.op("PCALIGN $32")
	s.label("loop")
	k.float(s, "VBROADCASTSS", "(SI), %s", k.reg(word))
	for v := range vecs {
		k.float(s, "VMOVUPS", "%d(DI)%s, %s", v%k.vecs*k.bytes(), panelAt[v/k.vecs], k.reg(vecs+v))
		k.multiply(s, v, word, vecs+v)
	}
	s.op("ADDQ R8, SI")
	s.op("ADDQ $%d, DI", k.vecs*k.bytes())
	s.op("DECQ BX")
	s.op("JNZ loop")
	s.op("CMPQ %s, $0", s.arg("add"))
	s.op("JEQ put")
	m.addRows(s, "AX", "", word)
	s.label("put")
	m.moveRow(s, 0, false, "AX")
	s.ret()
}
