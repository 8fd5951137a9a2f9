package main

import "fmt"

func writeVectors(s *source) {
	s.vectorAlong()
	for _, k := range []kernel{words512, words256, doubles512, doubles256} {
		for vecs := range 2 * k.vecs {
			k.vectorPanels(s, 1+vecs)
		}
	}
	s.words("firstWords", firstWords())
}

// vectorBlock is the words whose sums are a chain.
const vectorBlock = 256

// vectorAlong writes the kernel that multiplies a vector by rows along K, see VectorFunc: 16 of them at a time, each
// a lane of sums.
//
//	SI A   DX to its next word   DI, R8 every eighth row   R9, R10, R11, R12 1, 3, 5, 7 times the distance of rows
//	BX rows left   R15 words left   CX those of a block of sums   R13, R14 what is brought closer, as DI and R8
//	K1, K2 of what is left of 16 words   K3 of the rows to be stored   Z0-Z23 see half   Z28 sums of a block
//	Z29 those of all
func (s *source) vectorAlong() {
	s.function("vectorAlong512Words",
		"k, n int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stride int, dst unsafe.Pointer, add, ahead int", 0,
		"K words of A by n rows of B, 16 or more.")
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
	s.op("MOVL $0x80000000, AX")
	s.op("VPBROADCASTD AX, Z29")
	s.op("CMPQ %s, $0", s.arg("add"))
	s.op("JEQ block")
	s.load("dst", "AX")
	s.op("VMOVUPS (AX), Z29")
	s.label("block")
	s.op("MOVQ $%d, CX", vectorBlock)
	s.op("CMPQ R15, CX")
	s.op("CMOVQLT R15, CX")
	s.op("SUBQ CX, R15")
	s.op("VPXORD Z28, Z28, Z28")
	s.op("SUBQ $16, CX")
	s.op("JLT rest")
	s.op("PCALIGN $32")
	s.label("loop")
	s.vectorWords(false)
	for _, r := range []string{"DI", "R8", "R13", "R14"} {
		s.op("ADDQ $64, %s", r)
	}
	s.op("SUBQ $16, CX")
	s.op("JGE loop")
	s.label("rest")
	s.op("ADDQ $16, CX")
	s.op("JZ sums")
	s.op("MOVQ $-1, AX")
	s.op("SHLQ CX, AX")
	s.op("NOTQ AX")
	s.op("KMOVB AX, K1")
	s.op("SHRQ $8, AX")
	s.op("KMOVB AX, K2")
	s.vectorWords(true)
	s.label("sums")
	s.op("VADDPS Z29, Z28, Z29")
	s.op("TESTQ R15, R15")
	s.op("JNZ block")
	s.load("dst", "AX", "k", "CX", "b", "DI")
	s.op("VMOVUPS Z29, K3, (AX)")
	s.op("SUBQ $16, BX")
	s.op("JZ done")
	s.comment("Of the last rows, if they are fewer than 16, some before them are multiplied again.")
	s.op("MOVQ $16, CX")
	s.op("CMPQ BX, CX")
	s.op("JGE next")
	s.op("MOVQ BX, CX")
	s.op("MOVQ $0xffff0000, R8")
	s.op("SHRQ CX, R8")
	s.op("KMOVW R8, K3")
	s.op("MOVQ $16, BX")
	s.label("next")
	s.op("LEAQ (AX)(CX*4), AX")
	s.op("MOVQ AX, %s", s.arg("dst"))
	s.op("IMULQ R9, CX")
	s.op("ADDQ CX, DI")
	s.op("MOVQ DI, %s", s.arg("b"))
	s.op("JMP rows")
	s.label("done")
	s.ret()
}

// vectorWords multiplies 16 words of K, or the CX that are left.
func (s *source) vectorWords(rest bool) {
	index := [...]string{"", "(R9*1)", "(R9*2)", "(R10*1)", "(R9*4)", "(R11*1)", "(R10*2)", "(R12*1)"}
	for i := range 4 {
		for q := range 4 {
			row := func(of [2]string, at int) string { return fmt.Sprintf("%d(%s)%s", at, of[q/2], index[q%2*4+i]) }
			for h := range 2 {
				addr, reg := row([2]string{"DI", "R8"}, 32*h), 8*h+q/2*4+i
				switch {
				case rest && q%2 == 0:
					s.op("VMOVUPS.Z %s, K%d, Y%d", addr, 1+h, reg)
				case rest:
					s.op("VMOVUPS.Z %s, K%d, Y16", addr, 1+h)
					s.op("VINSERTF64X4 $1, Y16, Z%d, Z%d", reg, reg)
				case q%2 == 0:
					s.op("VMOVUPS %s, Y%d", addr, reg)
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
		for _, b := range s.half(8*h, 16) {
			s.op("VFMADD231PS.BCST (SI), Z%d, Z28", b)
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
