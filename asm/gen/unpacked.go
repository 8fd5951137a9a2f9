package main

import "fmt"

// An unpackedKernel reads both operands as they lie, for as many columns as its vectors have; see UnpackedFunc.
type unpackedKernel struct {
	masked
	across bool // K lies across the rows of A
}

// unpackeds are the largest of these kernels, whose tiles leave registers for a row of B and what else there is: the
// broadcast words of A and, with AVX2, the mask. There is one for each smaller number of vectors, K along or across
// the rows of A, and short or not.
var unpackeds = []kernel{
	{vectors: avx512, mr: 8, vecs: 3}, {vectors: avx2, mr: 6, vecs: 2},
}

// wideUnpackeds are those for fewer rows, which have registers for more vectors, all of them whole: the more of a row
// of B a call reads, the fewer times it turns to pages it has seen.
var wideUnpackeds = []kernel{
	{vectors: avx512, mr: 4, vecs: 6}, {vectors: avx512, mr: 2, vecs: 8},
	{vectors: avx512, mr: 1, vecs: 16},
	{vectors: avx2, mr: 3, vecs: 3}, {vectors: avx2, mr: 2, vecs: 4},
	{vectors: avx2, mr: 1, vecs: 8},
}

func writeUnpacked(s *source) {
	writeUnpackedOf(s, false)
	writeUnpackedOf(s, true)
	s.words("firstWords", firstWords())
}

// writeUnpackedOf writes those of float32 or float64.
func writeUnpackedOf(s *source, f64 bool) {
	for _, k := range unpackeds {
		most := k.vecs
		k.f64 = f64
		for k.vecs = 1; k.vecs <= most; k.vecs++ {
			for _, across := range []bool{false, true} {
				for _, short := range []bool{false, true} {
					unpackedKernel{masked{k, short, k.registers() - 1}, across}.mul(s)
				}
			}
		}
	}
	for _, k := range wideUnpackeds {
		k.f64 = f64
		for _, across := range []bool{false, true} {
			unpackedKernel{masked{k, false, k.registers() - 1}, across}.mul(s)
		}
	}
}

// crossA is rows of words of a step each, side by side; ld is a register for the bytes from one to the next.
type crossA struct {
	at, ld string
	size   int // of a word
}

// word knows the first step only, as there is no register for the others.
func (a crossA) word(u, i int) string { return fmt.Sprintf("%d(%s)", a.size*i, a.at) }

func (a crossA) advance(s *source, n int) {
	for range n {
		s.op("ADDQ %s, %s", a.ld, a.at)
	}
}

// fetch prefetches r words eight steps ahead: what lies far apart the processor does not fetch by itself. It asks for
// the last of them, as a line that begins before them came with the tile before. By 12 to 24 columns and K = 256 to
// 1024 that takes 0.6 to 1.0 of the time for 500 to 1001 rows, and 0.35 to 0.9 for 512, 1024, 2048 and 4096, whose
// steps share sets of the caches (float32 and float64, Zen 4, gemmbench compare -trans TN -workers 1 of two builds by
// turns).
func (a crossA) fetch(s *source, r int) { s.op("PREFETCHT0 %s(%s*8)", a.word(0, r-1), a.ld) }

// unpackedAhead is how many rows of K a kernel with AVX-512 prefetches ahead: rows far apart are nothing that the
// processor would fetch by itself. Those a power of two apart share a set of the first-level cache, where 8 ahead
// would take the places of 8 that are needed again. With AVX2, whose rows of a strip are a line or two, it prefetches
// the next strip instead, and to the second-level cache.
const unpackedAhead = 4

// mul writes the kernel, a loop over K for each number of rows that a tile may have.
//
//	BX rows left   CX steps left   SI A   DX its fifth row   DI B   R8 A of the tile   R9 ldb   R10 dst   R11 ldd
//	R12 lda   R13 3·lda   AX bytes from A of a tile to that of the next
//	K1 or the last register of AVX2: mask of the last vector
func (k unpackedKernel) mul(s *source) {
	role := "unpacked"
	if k.across {
		role += "Across"
	}
	s.function(k.called(role),
		"r, m, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, dst unsafe.Pointer, ldd, last, add int", 0,
		fmt.Sprintf("%d vectors of columns, r rows of m at a time.", k.vecs))
	k.setMask(s)
	s.load("r", "AX", "m", "BX")
	s.load("a", "R8", "lda", "R12")
	s.load("ldb", "R9", "dst", "R10", "ldd", "R11")
	if !k.across {
		s.op("LEAQ (R12)(R12*2), R13")
	}
	k.byRows(s, "AX", "rows")
	for r := k.mr; r > 0; r-- {
		k.rows(s, r)
	}
	s.label("done")
	s.ret()
	k.addRows(s, "CX", "R11", k.mr*k.vecs)
	s.load("r", "DX")
	k.byRows(s, "DX", "put")
	s.op("JMP put%d", k.mr)
}

// rows writes the products of tiles of r rows.
func (k unpackedKernel) rows(s *source, r int) {
	var a operandA = rowsA{"SI", "DX", "R12", "R13", r, k.word()}
	s.label(fmt.Sprintf("rows%d", r))
	if k.across {
		a = crossA{"SI", "R12", k.word()}
		s.op("MOVQ $%d, AX", k.word()*r)
	} else {
		s.op("IMULQ R12, AX")
	}
	s.label(fmt.Sprintf("tile%d", r))
	for i := range r * k.vecs {
		k.zero(s, i)
	}
	s.load("k", "CX", "b", "DI")
	s.op("MOVQ R8, SI")
	if rows, ok := a.(rowsA); ok {
		rows.tile(s)
	}
	s.op("PCALIGN $32")
	s.label(fmt.Sprintf("loop%d", r))
	k.row(s, a, r)
	s.op("DECQ CX")
	s.op("JNZ loop%d", r)
	s.op("CMPQ %s, $0", s.arg("add"))
	s.op("JNE adds%d", r)
	s.label(fmt.Sprintf("put%d", r))
	for i := range r {
		k.moveRow(s, i, false, "R10")
		s.op("ADDQ R11, R10")
	}
	s.op("ADDQ AX, R8")
	s.op("SUBQ $%d, BX", r)
	s.op("JNZ tile%d", r)
	s.op("JMP done")
	s.label(fmt.Sprintf("adds%d", r))
	s.op("MOVQ R10, CX")
	s.lastRow(r, "CX", "R11", "DX")
	s.op("JMP add%d", r)
}

// row writes the products of r words of A and a row of B. What a single row uses once takes turns in the registers that
// are left.
func (k unpackedKernel) row(s *source, a operandA, r int) {
	b0 := k.mr * k.vecs
	load := func(v, b int) { k.move(s, v, true, fmt.Sprintf("%d(DI)", v*k.bytes()), k.column(b, v)) }
	if across, is := a.(crossA); is {
		across.fetch(s, r)
	}
	if k.mr == 1 {
		word := k.registers() - 1
		k.prefetchRow(s)
		k.broadcast(s, a.word(0, 0), word)
		for v := range k.vecs {
			b := b0 + v%(word-b0)
			load(v, b)
			k.multiply(s, v, word, b)
		}
		s.op("ADDQ R9, DI")
		a.advance(s, 1)
		return
	}
	bcast := b0 + k.vecs
	spare := k.registers() - bcast
	if !k.zmm && k.masks() {
		spare--
	}
	for v := range k.vecs {
		load(v, b0+v)
	}
	k.prefetchRow(s)
	s.op("ADDQ R9, DI")
	k.products(s, a, r, b0, bcast, spare)
}

// prefetchRow writes the prefetches of what is read after a row of B.
func (k unpackedKernel) prefetchRow(s *source) {
	for size, o := k.vecs*k.bytes(), 0; o < size; o += 64 {
		if k.zmm {
			s.op("PREFETCHT0 %d(DI)(R9*%d)", o, unpackedAhead)
		} else { // its last byte, as where a line begins before the row it came with the strip before
			s.op("PREFETCHT1 %d(DI)", (size+63)/64*64+min(o+64, size)-1)
		}
	}
}
