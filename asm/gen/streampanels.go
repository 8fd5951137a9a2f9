package main

import "fmt"

// streamsPanels are the stream kernels for panels.
var streamsPanels = streamTable{
	{forms: streams512, rows: streamRows, most: 8, all: 16, far: nearAndFar},
	{forms: streams256, rows: streamFew, most: 3, all: 12, ymm: true, far: near},
}

func writeStreamsPanels(s *source) { streamsPanels.write(func(k stream) { k.panels(s) }) }

// load loads a vector of words from memory where elements of 16 bits that are not pairs are narrow.
func (k stream) load(s *source, addr string, reg int) {
	if k.kpack == 2 {
		s.op("VMOVUPS %s, %s", addr, k.kernel().reg(reg))
		return
	}
	k.kernel().load(s, k.form, addr, reg)
}

// panels writes the kernel for panels that lie stride bytes apart. Where it reads several, a stride of 0 says that
// there is one only.
//
//	DI streamCall   R9 stride   R10 3·stride   SI B   R11 what is prefetched   DX A   CX words left
func (k stream) panels(s *source) {
	one := k
	one.vecs = k.kernel().vecs
	k.function(s, "Panels"+k.suffix(), k.vecs*k.vector())
	s.fields("streamCall", "DI", "stride", "R9", "b", "SI", "k", "CX")
	s.slot(0, "a", 0, "DX")
	if k.asks() {
		k.aimAhead(s)
	}
	if k.is8() {
		k.panels8(s)
	}
	if k.vecs > one.vecs {
		s.op("TESTQ R9, R9")
		s.op("JZ one")
		s.op("LEAQ (R9)(R9*2), R10")
		k.panelsLoop(s, "loop")
		s.ret()
		s.label("one")
	}
	one.panelsLoop(s, "single")
	s.ret()
}

// asks reports whether caches are asked for what comes: not for float32 by AVX2, of which the processor brings as much
// as those products take.
func (k stream) asks() bool { return !k.ymm || k.bytes < 4 }

// panelsLoop writes the loop over K of a kernel for panels under a label, for as many as there are accumulators.
func (k stream) panelsLoop(s *source, label string) {
	kern := k.kernel()
	addr := func(v int) string { return fmt.Sprintf("%d(AX)", v*kern.bytes()) }
	k.accumulators(s, 0, 0, k.vecs, addr, nil)
	s.label(label)
	k.panelsStep(s)
	s.op("ADDQ $%d, SI", kern.vecs*k.vectorB())
	if k.asks() {
		s.op("ADDQ $%d, R11", kern.vecs*k.vectorB())
	}
	s.op("ADDQ $%d, DX", k.word()*kern.mr)
	s.op("DECQ CX")
	s.op("JNZ %s", label)
	k.addSource(s, 0, 0, k.vecs, addr)
	k.store(s, 0, 0, k.vecs, addr, nil)
}

// panelsStep multiplies a word of K of the panels. For few rows it asks the second-level cache for every other line,
// and is given both: products that do not take as long as to fetch a line would fill all buffers, in which case further
// prefetches are dropped.
func (k stream) panelsStep(s *source) {
	if k.is8() {
		k.panelsStep8(s)
		return
	}
	kern := k.kernel()
	var bs []int
	var fetch []string
	b, _, _ := k.registers()
	apart := 64
	if k.far && k.rows <= 4 {
		apart = 128
	}
	for v := range k.vecs {
		at := panelAt[v/kern.vecs]
		o := v % kern.vecs * k.vectorB()
		k.load(s, fmt.Sprintf("%d(SI)%s", o, at), b+v)
		bs = append(bs, b+v)
		if o%apart == 0 && k.asks() {
			fetch = append(fetch, fmt.Sprintf("%d(R11)%s", o, at))
		}
	}
	k.rank1(s, bs, k.word(), fetch...)
}

// panelAt is what leads from the first panel to the others.
var panelAt = []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}
