package main

import "fmt"

// An edgeKernel multiplies the first rows and columns of a tile, as many vectors of them as its name says; see EdgeFunc.
type edgeKernel struct{ masked }

// edgeKernels returns the kernels of a microkernel.
func edgeKernels(k kernel) (ks []edgeKernel) {
	most := k.vecs
	for k.width, k.vecs = most, 1; k.vecs <= most; k.vecs++ {
		for _, short := range []bool{false, true} {
			ks = append(ks, edgeKernel{masked{k, short, k.mr * most}})
		}
	}
	return ks
}

// prefix returns the start of the kernel's name.
func (k edgeKernel) prefix() string {
	if k.short {
		return fmt.Sprintf("edgeShort%d", k.vecs)
	}
	return fmt.Sprintf("edge%d", k.vecs)
}

// stepA is rows of words of a step each, lda bytes apart, step bytes from one step to the next.
type stepA struct {
	rowsA
	step string // register
}

func (a stepA) advance(s *source, n int) {
	for range n {
		s.op("ADDQ %s, %s", a.step, a.at)
		if a.mr > 4 {
			s.op("ADDQ %s, %s", a.step, a.at4)
		}
	}
}

// edgeUnroll is how many steps of K a turn of the loop has. With one AVX2 takes 4 % longer.
const edgeUnroll = 2

// mul writes the kernel, a loop over K for each number of rows.
//
//	CX steps left   SI A   DX its fifth row   R12 lda   R13 3·lda   R14 step   DI B   R8 src   R9 lds   R10 dst   R11 ldd
//	K1 or, of AVX2 and outside the loop, the first register of B: mask of the last vector
func (k edgeKernel) mul(s *source) {
	s.function(k.prefix()+k.name, "r, k int, a unsafe.Pointer, lda, step int, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, last int", 0,
		fmt.Sprintf("r rows by %d vectors of columns.", k.vecs))
	k.setMask(s)
	s.load("r", "AX", "k", "CX", "a", "SI", "lda", "R12", "step", "R14", "b", "DI", "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")
	s.op("LEAQ (R12)(R12*2), R13")
	for r := 1; r < k.mr; r++ {
		s.op("CMPQ AX, $%d", r)
		s.op("JEQ rows%d", r)
	}
	for r := k.mr; r > 0; r-- {
		k.rows(s, r)
	}
}

// rows writes a tile of r rows.
func (k edgeKernel) rows(s *source, r int) {
	a := stepA{rowsA{"SI", "DX", "R12", "R13", r}, "R14"}
	s.label(fmt.Sprintf("rows%d", r))
	a.tile(s)
	s.op("TESTQ R8, R8")
	s.op("JZ zero%d", r)
	s.op("TESTQ R9, R9")
	s.op("JS zero%d", r)
	for i := range r {
		for v := range k.vecs {
			k.move(s, v, true, fmt.Sprintf("%d(R8)", v*k.bytes()), k.column(i*k.vecs+v, v))
		}
		s.op("ADDQ R9, R8")
	}
	s.op("JMP start%d", r)
	s.label(fmt.Sprintf("zero%d", r))
	for i := range r * k.vecs {
		k.zero(s, i)
	}
	s.label(fmt.Sprintf("start%d", r))
	s.op("SUBQ $%d, CX", edgeUnroll)
	s.op("JL rest%d", r)
	s.op("PCALIGN $32")
	s.label(fmt.Sprintf("loop%d", r))
	for u := range edgeUnroll {
		k.step(s, a, r, u)
	}
	s.op("ADDQ $%d, DI", edgeUnroll*k.rowB())
	s.op("SUBQ $%d, CX", edgeUnroll)
	s.op("JGE loop%d", r)
	s.label(fmt.Sprintf("rest%d", r))
	s.comment("CX is -1 if a step is left, and -2 if none is.")
	s.op("INCQ CX")
	s.op("JNZ store%d", r)
	k.step(s, a, r, 0)
	s.label(fmt.Sprintf("store%d", r))
	if !k.zmm {
		k.setMask(s)
	}
	s.op("TESTQ R8, R8")
	s.op("JZ put%d", r)
	s.op("TESTQ R9, R9")
	s.op("JNS put%d", r)
	s.op("NEGQ R9")
	k.addRows(s, r, "R8", "R9", k.registers()-1)
	s.label(fmt.Sprintf("put%d", r))
	s.op("TESTQ $1, %s", s.arg("lds"))
	s.op("JZ plain%d", r)
	s.op("MOVQ R10, R8")
	k.addRows(s, r, "R8", "R11", k.registers()-1)
	s.label(fmt.Sprintf("plain%d", r))
	k.storeRows(s, r)
	s.ret()
}

// step writes step u of a turn of the loop over K. All of a vector of B is there, as it lies in a panel.
func (k edgeKernel) step(s *source, a operandA, r, u int) {
	b0 := k.mr * k.width
	bcast := b0 + k.width
	spare := k.registers() - bcast
	for v := range k.vecs {
		s.op("VMOVUPS %d(DI), %s", u*k.rowB()+v*k.bytes(), k.column(b0+v, v))
	}
	k.products(s, a, r, b0, bcast, spare)
}

// edges writes these kernels.
func edges(s *source) {
	for _, k := range kernels {
		for _, e := range edgeKernels(k) {
			e.mul(s)
		}
	}
	s.words("firstWords", firstWords())
}
