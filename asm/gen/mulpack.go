package main

import (
	"fmt"
	"math/bits"
	"strings"
)

// packSteps is how many steps of K the packing of a word of K takes: two lines of the cache for what multiplies for
// 16 cycles. It divides the steps of a turn.
const packSteps = 2

// packChunk is the bytes that are prefetched of a row of K.
const packChunk = 128

// mulPacks are the kernels that pack a panel of B while they multiply another, and what they pack.
var mulPacks = []struct {
	kernel kernel
	forms  []form
}{
	{pairs512, []form{pairs}},
	{words512, asWords},
	{words256, asWords},
	{doubles512, []form{doubles}},
	{doubles256, []form{doubles}},
}

func writeMulPacks(s *source) {
	for _, p := range mulPacks {
		for _, f := range p.forms {
			p.kernel.mulPack(s, f)
			if p.kernel.zmm {
				p.kernel.mulPackT(s, f)
			}
		}
	}
	s.words("interleave", interleave())
	s.words("packLanes", packLanes())
}

// mulPack writes the kernel that packs a panel of B while it multiplies another; see Packing for its contract.
//
// A cache takes lines of one set, as rows a power of two apart are, at a third of the rate of others, and what is
// loaded here is not needed soon: so the loads, the interleaving and the stores hide behind the products of any turn,
// and the turns that are left when the panel is packed are those of any strip.
//
//	BX tiles left   CX steps left   SI A   DI B   R8 src   R9 lds   R10 dst   R11 ldd
//	R12 panel   R13 bytes between rows of K   R14 words of K left   R15 rows of K   DX what to prefetch   AX its pitch
func (k kernel) mulPack(s *source, f form) {
	a := panelA{"SI", k.mr, k.word()}
	s.function("mulPackAcross"+k.set()+f.name,
		"k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack Packing", 8, k.doc+".")
	s.load("pack_B", "R15", "pack_Stride", "R13", "pack_K", "R14",
		"pack_Panel", "R12", "pack_Pitch", "AX", "pack_Next", "DX")
	if f.kpack == 2 {
		s.op("SHRQ $1, R14")
		s.op("VMOVDQU32 ·interleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·interleave<>+64(SB), Z31")
	}
	s.load("m", "BX", "a", "SI")
	s.load("src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")

	s.label("tile")
	s.load("b", "DI")
	s.load("k", "CX")
	k.loadTile(s, nil)
	s.label("start")
	s.op("SUBQ $%d, CX", unroll)
	s.op("JL rest")
	s.op("CMPQ R14, $%d", unroll/packSteps)
	s.op("JL loop")
	s.op("PCALIGN $64")
	s.label("pack")
	for u := range unroll {
		k.step(s, a, u)
		if u%packSteps == 0 {
			k.packWord(s, f, u/packSteps)
		}
	}
	s.op("SUBQ $%d, R14", unroll/packSteps)
	k.turned(s, a)
	s.op("JL rest")
	s.op("CMPQ R14, $%d", unroll/packSteps)
	s.op("JGE pack")

	k.loop(s, a)
	s.label("store")
	k.storeTotals(s)
	s.op("DECQ BX")
	s.op("JNZ tile")

	s.op("TESTQ R14, R14")
	s.op("JZ done")
	s.label("tail")
	k.packWord(s, f, 0)
	s.op("DECQ R14")
	s.op("JNZ tail")
	s.label("done")
	s.ret()
}

// packWord packs a word of K of a panel, the n-th of a turn, and prefetches a chunk for every word's bytes of a column.
func (k kernel) packWord(s *source, f form, n int) {
	t := k.registers() - 1 // has a word of A, which the next step does not want again
	switch {
	case f.kpack == 2:
		f.load512(s, "(R15)", "", 27)
		f.load512(s, "(R15)(R13*1)", "", 29)
		s.op("LEAQ (R15)(R13*2), R15")
		s.interleave(27, 29, 28)
		s.op("VMOVUPS Z27, (R12)")
		s.op("VMOVUPS Z28, 64(R12)")
	default:
		for v := range k.vecs {
			k.load(s, f, fmt.Sprintf("%d(R15)", v*k.bytes()/f.word()*f.bytes), t)
			s.op("VMOVUPS %s, %d(R12)", k.reg(t), v*k.bytes())
		}
		s.op("ADDQ R13, R15")
	}
	s.op("ADDQ $%d, R12", k.rowB())
	if f.bytes*f.kpack == f.word() || n%2 == 0 {
		for o := 0; o < packChunk; o += 64 {
			s.op("PREFETCHT1 %d(DX)", o)
		}
		s.op("ADDQ AX, DX")
	}
}

// load loads a vector of words from elements at addr.
func (k kernel) load(s *source, f form, addr string, reg int) {
	if k.zmm {
		f.load512(s, addr, "", reg)
	} else {
		f.load256(s, addr, reg)
	}
}

// A block of a panel from rows along K is a line of packBlock columns, of packDepth words. It goes by while packTurns
// turns multiply, so that a word of all columns takes packSteps.
const packBlock = 8

func (f form) packDepth() int { return 64 / f.word() }

func (k kernel) packTurns() int { return packBlock * 64 * packSteps / k.rowB() / unroll }

// mulPackT is mulPack for a panel of B whose columns lie along K, a multiple of packDepth words: it transposes them,
// and the column blocks come one after the other, so that what is read are a few streams.
//
//	BX tiles left   CX steps left   SI A   DI B   R10 dst   R11 ldd
//	R8 blocks left of these columns   R9 three strides   R12 panel   R13 stride   R14 blocks left of the panel
//	R15 rows along K   DX what to prefetch   AX under way   0(SP) src   8(SP) R8   16(SP) blocks of 8 columns
//	24(SP) from their end in B to the next columns   32(SP) in the panel
func (k kernel) mulPackT(s *source, f form) {
	k.broadcasts = 2
	a := panelA{"SI", k.mr, k.word()}
	depth := f.packDepth()
	line := depth * f.kpack * f.bytes // of a row of a block
	s.function("mulPackAlong512"+f.name,
		"k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack Packing", 48, k.doc+".")
	s.load("pack_B", "R15", "pack_Stride", "R13", "pack_K", "R8", "pack_Panel", "R12", "pack_Next", "DX")
	s.op("LEAQ (R13*8), R9")
	s.op("MOVQ R8, AX")
	s.op("IMULQ $%d, AX", f.bytes)
	s.op("SUBQ AX, R9")
	s.op("MOVQ R9, 24(SP)")
	s.op("MOVQ R8, AX")
	s.op("IMULQ $%d, AX", -k.rowB()/f.kpack)
	s.op("ADDQ $%d, AX", f.word()*packBlock)
	s.op("MOVQ AX, 32(SP)")
	s.op("SHRQ $%d, R8", bits.TrailingZeros(uint(depth*f.kpack)))
	s.op("MOVQ R8, 8(SP)")
	s.op("MOVQ R8, 16(SP)")
	s.op("LEAQ (R8*%d), R14", k.rowB()/f.word()/packBlock)
	if f != doubles {
		s.op("VMOVDQU64 ·packLanes<>+0(SB), Z30")
		s.op("VMOVDQU64 ·packLanes<>+64(SB), Z31")
	}
	s.load("m", "BX", "a", "SI")
	s.load("src", "AX")
	s.op("MOVQ AX, 0(SP)")
	s.load("dst", "R10", "ldd", "R11")

	s.label("tile")
	s.load("b", "DI")
	s.load("k", "CX")
	s.op("MOVQ 0(SP), R8")
	s.load("lds", "R9")
	s.op("ANDQ $-2, R9")
	k.loadTile(s, nil)
	s.label("start")
	s.op("MOVQ R8, 0(SP)")
	s.op("MOVQ 8(SP), R8")
	s.op("LEAQ (R13)(R13*2), R9")
	s.op("SUBQ $%d, CX", unroll)
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("pack")
	s.op("CMPQ CX, $%d", (k.packTurns()-1)*unroll)
	s.op("JL loop")
	s.op("TESTQ R14, R14")
	s.op("JZ loop")
	ops := k.blockOps(f)
	steps := k.packTurns() * unroll
	for u := range steps {
		k.step(s, a, u)
		for _, op := range ops[u*len(ops)/steps : (u+1)*len(ops)/steps] {
			s.op("%s", op)
		}
	}
	k.nextBlock(s, f, "pack", line)
	a.advance(s, steps)
	s.op("ADDQ $%d, DI", steps*k.rowB())
	s.op("SUBQ $%d, CX", steps)
	s.op("JGE pack")
	s.op("JMP rest")

	k.loop(s, a)
	s.label("store")
	s.op("MOVQ R8, 8(SP)")
	s.op("MOVQ 0(SP), R8")
	s.load("lds", "R9")
	k.storeTotals(s)
	s.op("MOVQ R8, 0(SP)")
	s.op("DECQ BX")
	s.op("JNZ tile")

	s.op("TESTQ R14, R14")
	s.op("JZ done")
	s.op("MOVQ 8(SP), R8")
	s.op("LEAQ (R13)(R13*2), R9")
	s.label("tail")
	for _, op := range ops {
		s.op("%s", op)
	}
	k.nextBlock(s, f, "tail", line)
	s.op("TESTQ R14, R14")
	s.op("JNZ tail")
	s.label("done")
	s.ret()
}

// nextBlock goes on to the next words of K of these columns, or to the next columns.
func (k kernel) nextBlock(s *source, f form, where string, line int) {
	s.op("ADDQ $%d, R15", line)
	s.op("ADDQ $%d, DX", line)
	s.op("ADDQ $%d, R12", f.packDepth()*k.rowB())
	s.op("DECQ R14")
	s.op("DECQ R8")
	s.op("JNZ %sNext", where)
	s.op("ADDQ 24(SP), R15")
	s.op("ADDQ 24(SP), DX")
	s.op("ADDQ 32(SP), R12")
	s.op("MOVQ 16(SP), R8")
	s.label(where + "Next")
}

// blockOps returns the instructions that pack a block and prefetch as much. Four rows are transposed within the
// lanes, and then lanes of rows 0..3 and 4..7 of a word put side by side. Of float64 see transposeInPlace.
//
//	Z20-Z27 rows   Z28 Z29 under way   Z30 Z31 tables
func (k kernel) blockOps(f form) []string {
	const first, tmp = 20, 28
	var s source
	for half, at := range []string{"R15", "AX"} {
		if half > 0 {
			s.op("LEAQ (R15)(R13*4), AX")
		}
		for i, addr := range rowsAt(at) {
			f.load512(&s, addr, "", first+4*half+i)
		}
	}
	for half, at := range []string{"DX", "AX"} {
		if half > 0 {
			s.op("LEAQ (DX)(R13*4), AX")
		}
		for _, addr := range rowsAt(at) {
			s.op("PREFETCHT1 %s", addr)
		}
	}
	if f == doubles {
		for word, z := range s.transposeInPlace(first) {
			s.op("VMOVUPD Z%d, %d(R12)", z, word*k.rowB())
		}
		return s.instructions()
	}
	k.quad(&s, first, tmp, byWords)
	k.quad(&s, first+4, tmp, byWords)
	for j := range 4 {
		upper, lower := first+j, first+4+j
		s.op("VMOVDQA64 Z%d, Z%d", upper, tmp)
		s.op("VPERMT2Q Z%d, Z30, Z%d", lower, tmp)
		s.op("VPERMT2Q Z%d, Z31, Z%d", lower, upper)
		for i, z := range []int{tmp, upper} {
			s.op("VMOVDQU32 Y%d, %d(R12)", z, (8*i+j)*k.rowB())
			s.op("VEXTRACTI64X4 $1, Z%d, %d(R12)", z, (8*i+4+j)*k.rowB())
		}
	}
	return s.instructions()
}

// instructions returns what has been written, one by one.
func (s *source) instructions() []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(s.String(), "\t", "")), "\n")
}

// rowsAt returns the addresses of four rows from a register on.
func rowsAt(at string) []string {
	return []string{"(" + at + ")", "(" + at + ")(R13*1)", "(" + at + ")(R13*2)", "(" + at + ")(R9*1)"}
}

// packLanes returns the indices that put lanes 0 and 1, and 2 and 3, of two registers side by side, a word of 64 bits
// each.
func packLanes() (table []uint16) {
	for _, lane := range []uint16{0, 1, 2, 3} {
		for _, q := range []uint16{2 * lane, 2*lane + 1, 8 + 2*lane, 8 + 2*lane + 1} {
			table = append(table, q, 0, 0, 0)
		}
	}
	return table
}
