package main

import "fmt"

func writeLanes(s *source) {
	for _, k := range kernels {
		k.lanes(s)
	}
}

// lanes writes the kernel that goes on with as many chains as a panel of B has columns, in the lanes of vectors; see LanesFunc.
//
//	CX steps left   SI A   R8 to its next step   DI B   R9 to its next step   R10 sums   R11, R12 what comes next
func (k kernel) lanes(s *source) {
	s.function("lanes"+k.name, "k int, a unsafe.Pointer, stepA int, b unsafe.Pointer, stepB int, sums unsafe.Pointer, nextA, nextB uintptr", 0,
		fmt.Sprintf("%d vectors of chains.", k.vecs))
	s.load("k", "CX", "a", "SI", "stepA", "R8", "b", "DI", "stepB", "R9", "sums", "R10", "nextA", "R11", "nextB", "R12")
	a, b := k.vecs, 2*k.vecs
	for v := range k.vecs {
		s.op("VMOVUPS %d(R10), %s", v*k.bytes(), k.reg(v))
	}
	s.op("PCALIGN $32")
	s.label("loop")
	for v := range k.vecs {
		s.op("VMOVUPS %d(SI), %s", v*k.bytes(), k.reg(a+v))
		s.op("VMOVUPS %d(DI), %s", v*k.bytes(), k.reg(b+v))
		k.multiply(s, v, a+v, b+v)
	}
	for at := 0; at < k.rowB(); at += 64 {
		s.op("PREFETCHT1 %d(R11)", at)
		s.op("PREFETCHT1 %d(R12)", at)
	}
	s.op("ADDQ $%d, R11", k.rowB())
	s.op("ADDQ $%d, R12", k.rowB())
	s.op("ADDQ R8, SI")
	s.op("ADDQ R9, DI")
	s.op("DECQ CX")
	s.op("JNZ loop")
	for v := range k.vecs {
		s.op("VMOVUPS %s, %d(R10)", k.reg(v), v*k.bytes())
	}
	s.ret()
}
