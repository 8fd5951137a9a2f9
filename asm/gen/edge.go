package main

import "fmt"

// An edgeKernel multiplies the first rows and columns of a tile, as many vectors of them as its name says; see
// EdgeFunc.
type edgeKernel struct{ masked }

// edgeSums is how many sums at least do not wait for each other.
const edgeSums = 8

// writeEdges writes those of all kernels, for each number of vectors, short or not.
func writeEdges(s *source) {
	for _, k := range kernels {
		most, high := k.vecs, k.mr
		for k.width, k.vecs = most, 1; k.vecs <= most; k.vecs++ {
			k.mr = max(high, edgeSums/k.vecs)
			for _, short := range []bool{false, true} {
				edgeKernel{masked{k, short, k.mr * k.vecs}}.mul(s)
			}
		}
	}
	s.words("firstWords", firstWords())
}

// stepA is rows of words of a step each, lda bytes apart, step bytes from one step to the next.
type stepA struct {
	rowsA
	step string // register
}

// tile sets at4, if there are so many rows.
func (a stepA) tile(s *source) {
	if a.mr > 4 {
		s.load("fifth", a.at4)
		s.op("ADDQ %s, %s", a.at, a.at4)
	}
}

func (a stepA) advance(s *source, n int) {
	for range n {
		s.op("ADDQ %s, %s", a.step, a.at)
		if a.mr > 4 {
			s.op("ADDQ %s, %s", a.step, a.at4)
		}
	}
}

// edgeUnroll is how many steps of K a turn of the loop has, which starts with the second if K is odd. With one AVX2
// takes 4 % longer.
const edgeUnroll = 2

// mul writes the kernel, a loop over K for each number of rows.
//
//	AX rows   CX steps left   SI A   DX its fifth row   R12 lda   R13 3·lda   R14 step   DI B   R10 dst   R11 ldd
//	R8 rows that are added, src or dst, or 0   R9 their pitch
//	K1 or, of AVX2 and outside the loop, the first register of B: mask of the last vector
func (k edgeKernel) mul(s *source) {
	s.function(k.called("edge"),
		"r, k int, a unsafe.Pointer, lda, fifth, step int, b, src unsafe.Pointer, lds int, "+
			"dst unsafe.Pointer, ldd, last int",
		0, fmt.Sprintf("r rows by %d vectors of columns.", k.vecs))
	k.setMask(s)
	s.load("r", "AX", "k", "CX", "a", "SI", "lda", "R12", "step", "R14",
		"b", "DI", "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")
	s.op("LEAQ (R12)(R12*2), R13")
	s.op("TESTQ R8, R8")
	s.op("JZ first")
	s.op("NEGQ R9")
	s.op("JLE load")
	s.label("first")
	s.op("TESTQ $1, %s", s.arg("lds"))
	s.op("JNZ onto")
	s.label("zero")
	k.byRows(s, "AX", "zero")
	for r := k.mr; r > 0; r-- {
		k.rows(s, r)
	}
	k.fromLast(s, "put", "R10", "R11", func(i int) { k.moveRow(s, i, false, "R10") })
	s.ret()
	k.addRows(s, "R8", "R9", k.registers()-1)
	k.byRows(s, "AX", "put")
	s.op("JMP put%d", k.mr)
	s.label("onto")
	s.op("MOVQ R10, R8")
	s.op("MOVQ R11, R9")
	s.op("JMP zero")
	s.label("load")
	for i := range k.mr {
		k.moveRow(s, i, true, "R8")
		if i < k.mr-1 {
			s.op("SUBQ R9, R8")
			s.op("CMPQ AX, $%d", i+1)
			s.op("JEQ loaded")
		}
	}
	s.label("loaded")
	s.op("XORL R8, R8")
	s.op("TESTQ $1, %s", s.arg("lds"))
	s.op("CMOVQNE R10, R8")
	s.op("MOVQ R11, R9")
	k.byRows(s, "AX", "start")
	s.op("JMP start%d", k.mr)
}

// rows writes the products of a tile of r rows.
func (k edgeKernel) rows(s *source, r int) {
	a := stepA{rowsA{"SI", "DX", "R12", "R13", r, k.word()}, "R14"}
	s.label(fmt.Sprintf("zero%d", r))
	for i := range r * k.vecs {
		k.zero(s, i)
	}
	s.label(fmt.Sprintf("start%d", r))
	a.tile(s)
	s.op("TESTQ CX, CX")
	s.op("JZ store%d", r)
	s.op("TESTQ $1, CX")
	s.op("JNZ odd%d", r)
	s.op("PCALIGN $32")
	s.label(fmt.Sprintf("loop%d", r))
	k.step(s, a, r, 0)
	s.label(fmt.Sprintf("second%d", r))
	k.step(s, a, r, 1)
	s.op("ADDQ $%d, DI", edgeUnroll*k.rowB())
	s.op("SUBQ $%d, CX", edgeUnroll)
	s.op("JG loop%d", r)
	s.label(fmt.Sprintf("store%d", r))
	if !k.zmm {
		k.setMask(s)
	}
	s.lastRow(r, "R10", "R11", "DX")
	s.op("TESTQ R8, R8")
	s.op("JZ put%d", r)
	s.lastRow(r, "R8", "R9", "DX")
	s.op("JMP add%d", r)
	s.label(fmt.Sprintf("odd%d", r))
	s.op("SUBQ $%d, DI", k.rowB())
	s.op("JMP second%d", r)
}

// step writes step u of a turn of the loop over K. All of a vector of B is there, as it lies in a panel.
func (k edgeKernel) step(s *source, a operandA, r, u int) {
	b0 := k.mr * k.vecs
	bcast := b0 + k.width
	spare := k.registers() - bcast
	for v := range k.vecs {
		k.float(s, "VMOVUPS", "%d(DI), %s", u*k.rowB()+v*k.bytes(), k.column(b0+v, v))
	}
	k.products(s, a, r, b0, bcast, spare)
}
