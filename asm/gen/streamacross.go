package main

import "fmt"

// streamsAcross are the stream kernels for rows of K.
var streamsAcross = streamTable{
	{forms: streams512, rows: streamRows, most: 4, all: 16, far: nearAndFar},
	{forms: streams256, rows: streamFew, most: 8, all: 8, ymm: true, far: nearAndFar},
}

func writeStreamsAcross(s *source) {
	streamsAcross.write(func(k stream) {
		if k.ymm {
			k.across256(s)
		} else {
			k.across(s)
		}
	})
	s.words("streamInterleave", interleave())
}

// aim sets R13 and R12 to where the first and the second row of a pair are prefetched, seen from SI: ahead in the
// row, or near its end at the start of the row that comes next.
func (k stream) aim(s *source) {
	s.op("MOVQ streamCall_ahead(DI), R13")
	s.op("CMPQ BX, streamCall_near(DI)")
	s.op("JG inside")
	s.op("ADDQ streamCall_next(DI), R13")
	s.label("inside")
	if k.kpack == 2 {
		s.op("LEAQ (R13)(R9*1), R12")
	}
}

// across writes the kernel for rows of K. It takes the columns block by block, each through all of K. The processor
// sees that each row is a stream, as long as there are not many more than sixteen, but does not follow it far enough
// ahead.
//
//	DI streamCall   R8 offset in a row of accumulators   R9 stride   R10 block of B   R11 elements of K
//	BX columns left   SI row of B   DX A   CX elements left
//	R13 R12 what is prefetched for the rows of a pair, seen from SI
//	Z0-Z15 accumulators   Z16-Z23 B   Z24-Z27 A   Z29 zero   Z30 Z31 interleave
//	K1-K4 columns of the accumulators   K5 K6 columns of pairs
func (k stream) across(s *source) {
	columns := k.vector() * k.vecs
	mask := func(v int) string { return fmt.Sprintf("K%d", 1+v) }
	k.acrossStart(s)
	for i := range 6 {
		s.op("KXNORQ K%d, K%d, K%d", 1+i, 1+i, 1+i)
	}
	switch {
	case k.is8():
		k.across8(s)
	case k.kpack == 2:
		s.op("VPXORD Z29, Z29, Z29")
		s.op("VMOVDQU32 ·streamInterleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·streamInterleave<>+64(SB), Z31")
	}

	k.maskBlock(s, true)
	k.accumulators(s, 0, 0, k.vecs, k.column, mask)
	k.acrossTop(s)
	s.op("JL rest")
	k.aim(s)
	if k.rows > 4 {
		// Two lines at a time are cheaper than one at every block.
		s.op("TESTQ $%d, R8", columns*k.word())
		s.op("JNZ odd")
		k.acrossLoop(s, "loop", 2*columns*k.bytes)
		s.op("JMP rest")
		k.acrossLoop(s, "odd", 0)
	} else {
		k.acrossLoop(s, "loop", columns*k.bytes)
	}
	s.label("rest")
	if k.kpack == 2 {
		s.comment("An odd K has no second row.")
		s.op("CMPQ CX, $-1")
		s.op("JNE store")
		k.rank1(s, k.row(s, false), k.word())
	}
	s.label("store")
	k.store(s, 0, 0, k.vecs, k.column, mask)
	k.acrossNext(s, columns)
	s.op("JG block")
	s.ret()
}

// maskBlock begins a block of columns under the label block. If not all exist it sets the masks of vectors, K1-K4, and
// if those of pairs are wanted K5 and K6.
func (k stream) maskBlock(s *source, pairs bool) {
	s.label("block")
	s.op("CMPQ BX, $%d", k.vector()*k.vecs)
	s.op("JGE full")
	s.op("MOVQ $-1, AX")
	s.op("BZHIQ BX, AX, AX")
	if pairs {
		s.op("KMOVQ AX, K5")
	}
	for v := range k.vecs {
		s.op("KMOVQ AX, K%d", 1+v)
		s.op("SHRQ $%d, AX", k.vector())
		if pairs && v == 1 {
			s.op("KMOVQ AX, K6")
		}
	}
	s.label("full")
}

// acrossStart opens a kernel for rows of K.
func (k stream) acrossStart(s *source) {
	k.function(s, "Across"+k.suffix(), k.vecs*k.vector())
	k.acrossFields(s)
}

// acrossFields loads what the kernel works on.
func (k stream) acrossFields(s *source) {
	s.fields("streamCall", "DI", "stride", "R9", "b", "R10", "k", "R11", "n", "BX")
	s.op("XORQ R8, R8")
}

// acrossTop goes to the top of a block of columns, and sets the flags for whether there is a row or a pair of rows.
func (k stream) acrossTop(s *source) {
	s.slot(0, "a", 0, "DX")
	s.op("MOVQ R10, SI")
	s.op("MOVQ R11, CX")
	s.op("SUBQ $%d, CX", k.kpack)
}

// acrossNext goes on by some columns, and sets the flags for whether there are more.
func (k stream) acrossNext(s *source, columns int) {
	s.op("ADDQ $%d, R10", columns*k.bytes)
	s.op("ADDQ $%d, R8", columns*k.word())
	s.op("SUBQ $%d, BX", columns)
}

// column returns where vector v of a block of columns lies in a row of accumulators.
func (k stream) column(v int) string { return fmt.Sprintf("%d(AX)(R8*1)", v*k.kernel().bytes()) }

// acrossLoop writes the loop over K under a label. Of each row it prefetches as many bytes as given.
func (k stream) acrossLoop(s *source, label string, fetch int) {
	lines := k.lines(fetch)
	s.label(label)
	if k.ymm {
		k.step256(s, lines)
	} else {
		k.rank1(s, k.row(s, true), k.word(), lines...)
	}
	s.op("LEAQ (SI)(R9*%d), SI", k.kpack)
	s.op("ADDQ $%d, DX", k.word()*k.kernel().mr)
	s.op("SUBQ $%d, CX", k.kpack)
	s.op("JGE %s", label)
}

// lines returns the addresses to prefetch for so many bytes of a row, or of both rows of a pair.
func (k stream) lines(fetch int) (lines []string) {
	for o := 0; o < fetch; o += 64 {
		lines = append(lines, fmt.Sprintf("%d(SI)(R13*1)", o))
		if k.kpack == 2 {
			lines = append(lines, fmt.Sprintf("%d(SI)(R12*1)", o))
		}
	}
	return lines
}

// row loads a row of B, or a pair of rows of which the second may be missing, and returns the vectors.
func (k stream) row(s *source, second bool) (bs []int) {
	if k.is8() {
		return k.row8(s, second)
	}
	if k.kpack == 1 {
		for v := range k.vecs {
			k.load512(s, fmt.Sprintf("%d(SI)", v*k.vectorB()), fmt.Sprintf("K%d", 1+v), 16+v)
			bs = append(bs, 16+v)
		}
		return bs
	}
	for v := range k.vecs / 2 {
		low, high, right := 16+v, 18+v, 20+v
		mask := fmt.Sprintf("K%d", 5+v)
		k.load512(s, fmt.Sprintf("%d(SI)", 64*v), mask, low)
		if second {
			k.load512(s, fmt.Sprintf("%d(SI)(R9*1)", 64*v), mask, high)
		} else {
			high = 29
		}
		s.interleave(low, high, right)
		bs = append(bs, low, right)
	}
	return bs
}

// across256 is across for whole vectors: blocks that are as wide as there are accumulators for, and then narrower
// ones.
func (k stream) across256(s *source) {
	k.acrossStart(s)
	for vecs := k.vecs; vecs > 0; vecs /= 2 {
		block, loop := fmt.Sprintf("block%d", vecs), fmt.Sprintf("loop%d", vecs)
		n := stream{k.form, k.rows, vecs, true, k.far}
		s.label(block)
		s.op("CMPQ BX, $%d", k.vector()*vecs)
		s.op("JL block%d", vecs/2)
		n.accumulators(s, 0, 0, vecs, n.column, nil)
		n.acrossTop(s)
		if vecs == k.vecs {
			n.aim(s)
			n.acrossLoop(s, loop, vecs*k.vectorB())
		} else {
			n.acrossLoop(s, loop, 0)
		}
		n.store(s, 0, 0, vecs, n.column, nil)
		n.acrossNext(s, k.vector()*vecs)
		s.op("JMP %s", block)
	}
	s.label("block0")
	s.ret()
}

// step256 multiplies a row of B, a vector after the other, with the prefetches of some addresses spread among them. The
// accumulators come first in the register file, then A, and what is left takes B in turn.
func (k stream) step256(s *source, fetch []string) {
	a := k.rows * k.vecs
	for i := range k.rows {
		k.kernel().float(s, "VBROADCASTSS", "%d(DX), Y%d", k.word()*i, a+i)
	}
	b := a + k.rows
	for v := range k.vecs {
		y := b + v%(16-b)
		k.load256(s, fmt.Sprintf("%d(SI)", v*k.vectorB()), y)
		for i := range k.rows {
			k.kernel().multiply(s, i*k.vecs+v, a+i, y)
		}
		for f := v * len(fetch) / k.vecs; f < (v+1)*len(fetch)/k.vecs; f++ {
			s.op("%s %s", k.prefetch(), fetch[f])
		}
	}
}
