package main

import (
	"cmp"
	"fmt"
)

// A kernel describes a microkernel to generate.
type kernel struct {
	name   string // suffix of the function names
	doc    string
	mr     int  // rows of the tile
	vecs   int  // vectors in a row of the tile
	width  int  // vectors in a row of a panel of B, if they are not as many
	unroll int  // steps of K in a turn of the loop
	zmm    bool // 512-bit registers, otherwise 256-bit
	dot    bool // VDPBF16PS, otherwise VFMADD231PS

	broadcasts int // registers for words of A, if not all that are left

	folds bool // has a loop over K for cores that are short of instructions, see loop
	fold  int  // of so many words of A one is an operand of its multiply-adds, and not broadcast first
}

var kernels = []kernel{
	{name: "AVX512BF16", doc: "8 × 32, a word is a pair of bf16", mr: 8, vecs: 2, unroll: 4, zmm: true, dot: true},
	{name: "AVX512", doc: "8 × 32, a word is a float32", mr: 8, vecs: 2, unroll: 4, zmm: true, folds: true},
	{name: "AVX2", doc: "4 × 24, a word is a float32", mr: 4, vecs: 3, unroll: 4},
}

// strips writes their strip kernels and the loops that measure their peaks.
func strips(s *source) {
	for _, k := range kernels {
		k.mul(s, variant{})
		k.mul(s, variant{rows: true})
		if k.zmm {
			k.mul(s, variant{past: true})
			k.mul(s, variant{rows: true, past: true})
		}
		for _, to := range k.rounded() {
			k.mul(s, variant{to: to})
			k.mul(s, variant{to: to, past: true})
			k.mul(s, variant{to: to, rows: true})
			k.mul(s, variant{to: to, rows: true, past: true})
		}
		k.peak(s)
	}
	s.words("uppers", uppers())
}

func (k kernel) reg(i int) string {
	if k.zmm {
		return fmt.Sprintf("Z%d", i)
	}
	return fmt.Sprintf("Y%d", i)
}

// bytes is the size of a vector.
func (k kernel) bytes() int {
	if k.zmm {
		return 64
	}
	return 32
}

// rowB is the size of a row of a panel of B.
func (k kernel) rowB() int { return max(k.width, k.vecs) * k.bytes() }

// registers is the number of vector registers there are.
func (k kernel) registers() int {
	if k.zmm {
		return 32
	}
	return 16
}

// multiply writes acc += a·b on vector registers, in the order in which step writes it for a word in memory: of two NaN factors
// the processor keeps the first.
func (k kernel) multiply(s *source, acc, a, b int) {
	if k.dot {
		s.dotBF16(acc, b, a)
	} else {
		s.op("VFMADD231PS %s, %s, %s", k.reg(a), k.reg(b), k.reg(acc))
	}
}

// zero writes a clearing of a vector register.
func (k kernel) zero(s *source, i int) {
	if k.zmm {
		s.op("VPXORD %s, %s, %s", k.reg(i), k.reg(i), k.reg(i))
	} else {
		s.op("VXORPS %s, %s, %s", k.reg(i), k.reg(i), k.reg(i))
	}
}

// An operand of A is where the words of a step of K are: side by side in a panel, or in rows as they lie in memory.
type operandA interface {
	word(u, i int) string     // the place of word i of step u from here
	advance(s *source, n int) // by n steps
}

// panelA is a panel of mr words a step.
type panelA struct {
	at string // register
	mr int
}

func (a panelA) word(u, i int) string     { return fmt.Sprintf("%d(%s)", 4*(u*a.mr+i), a.at) }
func (a panelA) advance(s *source, n int) { s.op("ADDQ $%d, %s", 4*n*a.mr, a.at) }

// rowsA is up to 8 rows, mr of them, lda bytes apart. lda3 is a register for three times as much, and at4 one for the fifth row.
type rowsA struct {
	at, at4, lda, lda3 string
	mr                 int
}

func (a rowsA) word(u, i int) string {
	at := a.at
	if i >= 4 {
		at = a.at4
	}
	return fmt.Sprintf("%d(%s)%s", 4*u, at, [4]string{"", "(" + a.lda + "*1)", "(" + a.lda + "*2)", "(" + a.lda3 + "*1)"}[i%4])
}

func (a rowsA) advance(s *source, n int) {
	s.op("ADDQ $%d, %s", 4*n, a.at)
	if a.mr > 4 {
		s.op("ADDQ $%d, %s", 4*n, a.at4)
	}
}

// start sets the registers for rows of which lda and at are known.
func (a rowsA) start(s *source) {
	s.op("LEAQ (%s)(%s*2), %s", a.lda, a.lda, a.lda3)
	a.tile(s)
}

// tile sets at4, if there are so many rows.
func (a rowsA) tile(s *source) {
	if a.mr > 4 {
		s.op("LEAQ (%s)(%s*4), %s", a.at, a.lda, a.at4)
	}
}

// next goes from the end of 4 or 8 rows of k words to the start of the next rows; it clobbers a register.
func (a rowsA) next(s *source, tmp string) {
	if a.mr > 4 {
		s.op("MOVQ %s, %s", a.at4, a.at)
	}
	s.op("LEAQ (%s)(%s*4), %s", a.at, a.lda, a.at)
	s.load("k", tmp)
	s.op("SHLQ $2, %s", tmp)
	s.op("SUBQ %s, %s", tmp, a.at)
}

// mul writes a strip kernel.
//
// The accumulators come first in the register file, row by row, then the vectors of B; what is left takes the broadcast
// words of A in turn.
//
// C comes from L3 or memory and its rows are too short and too far apart for the processor to fetch ahead, so the first turns
// of the loop over K prefetch a row each of the tile that will be stored and of the next tile of src, or of this one if it is added. All rows
// at once would hold up the loads of A and B, and fetching past the strip would take lines from the core that writes them. Nor do
// turns follow each other that fetch, unless there are too few for what the caller asked for: lines on their way from L3 fill the
// buffers that lines of A need.
// The turns that follow prefetch what the caller asked for, and the rest, most of them, nothing: two more loads in every turn
// cost 2 % of the speed.
//
//	BX tiles left   CX steps left   SI A   DI B   R8 src   R9 lds   R10 dst   R11 ldd
//	AX row of src to prefetch   R13 their pitch   DX row of dst to prefetch, chunks left to this tile   16(SP) the end of the rows
//	R15 what to prefetch ahead   R14 rows left   R12 chunks left in the row   0(SP) chunks in a row   8(SP) from its end to the next
//	24(SP) chunks beside a tile
//
// A strip that goes past the caches is stored there, a line at a time, and not prefetched.
func (k kernel) mul(s *source, v variant) {
	var a operandA = panelA{"SI", k.mr}
	lie := rowsA{"SI", "R15", "R12", "R14", k.mr}

	if v.rows {
		a = lie
		s.function(v.name()+k.name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int", 40, k.doc+".")
		k.foldStart(s, foldAt)
		s.load("lda", "R12")
	} else {
		s.function(v.name()+k.name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, next *Ahead", 40, k.doc+".")
		k.foldStart(s, foldAt)
		k.aheadStart(s)
	}
	s.load("m", "BX", "a", "SI")
	s.load("src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")
	if v.rows {
		lie.start(s)
	}
	s.label("tile")
	s.load("b", "DI")
	s.load("k", "CX")
	if v.past {
		s.op("MOVQ DI, AX")
		s.op("XORQ R13, R13")
	} else {
		s.op("MOVQ R10, AX")
		s.op("MOVQ R11, R13")
	}
	k.loadTile(s, []string{"CMPQ BX, $1", "JE start", "MOVQ R8, AX", "MOVQ R9, R13"}, "MOVQ R8, AX", "MOVQ R9, R13", "NEGQ R13")

	s.label("start")
	s.op("LEAQ (R10)(R11*%d), DX", k.mr)
	s.op("MOVQ DX, 16(SP)")
	s.op("MOVQ R10, DX")
	s.op("SUBQ $%d, CX", k.unroll)
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("first")
	row, stored := k.vecs*k.bytes(), k.vecs*k.bytes()
	if v.to != nil {
		stored /= 2
	}
	for o := 0; o < row; o += 64 {
		last := min(o+64, row) - 1 // as where a line begins before the row it came with the panel before
		s.op("PREFETCHT0 %d(AX)", last)
		if !v.past && o < stored {
			s.op("PREFETCHT0 %d(DX)", last)
		}
	}
	s.op("ADDQ R13, AX")
	s.op("ADDQ R11, DX")
	k.turn(s, a)
	s.op("JL rest")
	if !v.rows {
		s.op("TESTQ R14, R14")
		s.op("JZ pause")
		s.op("CMPQ CX, $%d", 4*k.mr*k.unroll)
		s.op("JL go")
		s.label("pause")
	}
	k.turn(s, a)
	s.op("JL rest")
	s.label("go")
	s.op("CMPQ DX, 16(SP)")
	s.op("JNE first")
	if !v.rows {
		k.aheadLoop(s, a)
	}

	k.loop(s, a, foldAt)
	k.storeTile(s, v)
	if v.rows {
		lie.next(s, "CX")
		lie.tile(s)
	}
	s.op("DECQ BX")
	s.op("JNZ tile")
	if v.past {
		s.op("SFENCE")
	}
	s.ret()
}

// aheadStart sets the registers for what is to be prefetched.
func (k kernel) aheadStart(s *source) {
	s.load("next", "DX")
	s.op("XORQ R14, R14")
	s.op("XORQ R15, R15")
	s.op("TESTQ DX, DX")
	s.op("JZ begin")
	s.op("MOVQ Ahead_Base(DX), R15")
	s.op("MOVQ Ahead_Pitch(DX), AX")
	s.op("MOVQ Ahead_Each(DX), R14")
	s.op("MOVQ R14, 24(SP)")
	s.op("MOVQ Ahead_Rows(DX), R14")
	s.op("MOVQ Ahead_Chunks(DX), R12")
	s.op("MOVQ R12, 0(SP)")
	s.op("MOVQ R12, R13")
	s.op("SHLQ $%d, R13", chunkShift)
	s.op("SUBQ R13, AX")
	s.op("MOVQ AX, 8(SP)")
	s.label("begin")
}

// aheadLoop writes the turns that prefetch, which go on to the loop that follows or, where K ends, to rest.
func (k kernel) aheadLoop(s *source, a operandA) {
	s.op("TESTQ R14, R14")
	s.op("JZ loop")
	s.op("MOVQ 24(SP), DX")
	s.label("ahead")
	for o := 0; o < 1<<chunkShift; o += 64 {
		s.op("PREFETCHT1 %d(R15)", o)
	}
	s.op("ADDQ $%d, R15", 1<<chunkShift)
	s.op("DECQ R12")
	s.op("JNZ along")
	s.op("ADDQ 8(SP), R15")
	s.op("MOVQ 0(SP), R12")
	s.op("DECQ R14")
	s.op("JZ loop")
	s.label("along")
	k.turn(s, a)
	s.op("JL rest")
	s.op("DECQ DX")
	s.op("JNZ ahead")
}

// chunkShift is the logarithm of the size of an Ahead's chunks.
const chunkShift = 7

// step writes step u of a turn of the loop over K.
func (k kernel) step(s *source, a operandA, u int) {
	accs := k.mr * k.vecs
	b0, bcast := accs, accs+k.vecs
	spare := cmp.Or(k.broadcasts, k.registers()-bcast)
	row := k.rowB()
	for v := range k.vecs {
		s.op("VMOVUPS %d(DI), %s", u*row+v*k.bytes(), k.reg(b0+v))
	}
	for i := range k.mr {
		if k.fold > 0 && i%k.fold == 0 {
			for v := range k.vecs {
				s.op("VFMADD231PS.BCST %s, %s, %s", a.word(u, i), k.reg(b0+v), k.reg(i*k.vecs+v))
			}
			continue
		}
		r := bcast + i%spare
		s.op("VBROADCASTSS %s, %s", a.word(u, i), k.reg(r))
		for v := range k.vecs {
			k.multiply(s, i*k.vecs+v, r, b0+v)
		}
	}
}

// turn writes a turn of the loop over K; see turned.
func (k kernel) turn(s *source, a operandA) {
	for u := range k.unroll {
		k.step(s, a, u)
	}
	k.turned(s, a)
}

// turned ends a turn. It leaves the flags of CX, which has fallen below zero if there is no other turn.
func (k kernel) turned(s *source, a operandA) {
	a.advance(s, k.unroll)
	s.op("ADDQ $%d, DI", k.unroll*k.rowB())
	s.op("SUBQ $%d, CX", k.unroll)
}

// loop writes the turns that do nothing but multiply, and then the steps that are left where K ends inside a turn.
//
// A core whose other thread is busy is short of instructions rather than of loads. With some of the broadcasts folded into the
// multiply-adds, which takes a load more for each, a step has 22 instructions instead of 26, or 24 if A is in rows.
func (k kernel) loop(s *source, a operandA, flag int) {
	if k.folds {
		s.label("loop")
		s.op("CMPQ %d(SP), $0", flag)
		s.op("JEQ whole")
		folded := k
		folded.fold = 2
		if _, ok := a.(rowsA); ok {
			folded.fold = 4 // an operand with an index takes an instruction more
		}
		folded.turns(s, a, "folded")
		s.op("JMP rest")
		k.turns(s, a, "whole")
	} else {
		k.turns(s, a, "loop")
	}

	s.label("rest")
	s.op("ADDQ $%d, CX", k.unroll)
	s.op("JZ store")
	s.label("one")
	k.step(s, a, 0)
	a.advance(s, 1)
	s.op("ADDQ $%d, DI", k.rowB())
	s.op("DECQ CX")
	s.op("JNZ one")
}

// turns writes a loop of turns that do nothing but multiply.
func (k kernel) turns(s *source, a operandA, label string) {
	s.op("PCALIGN $64")
	s.label(label)
	k.turn(s, a)
	s.op("JGE %s", label)
}

// loadTile starts the accumulators from src and then does what is in next, or from zero: if there is no src, or if it is to be added at
// the end, as its pitch in R9 says, after what is in added. The code for start follows.
func (k kernel) loadTile(s *source, next []string, added ...string) {
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	s.op("TESTQ R9, R9")
	s.op("JS added")
	for i := range k.mr {
		for v := range k.vecs {
			s.op("VMOVUPS %d(R8), %s", v*k.bytes(), k.reg(i*k.vecs+v))
		}
		s.op("ADDQ R9, R8")
	}
	for _, op := range next {
		s.op("%s", op)
	}
	s.op("JMP start")

	s.label("added")
	for _, op := range added {
		s.op("%s", op)
	}
	s.label("zero")
	for i := range k.mr * k.vecs {
		k.zero(s, i)
	}
}

// peakAccs returns how many independent accumulators the peak loop uses: more than latency × rate of any core, and two
// registers are left for the factors.
func (k kernel) peakAccs() int { return k.registers() * 3 / 4 }

// peak writes the register-only loop of multiply-adds.
func (k kernel) peak(s *source) {
	s.function("peak"+k.name, "n int", 0, fmt.Sprintf("%d independent multiply-adds a turn, n turns.", k.peakAccs()))
	s.load("n", "CX")
	for i := range k.registers() {
		k.zero(s, i)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.op("PCALIGN $64")
	s.label("loop")
	for i := range k.peakAccs() {
		k.multiply(s, i, k.registers()-1, k.registers()-2)
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.ret()
}

// foldAt is where a strip kernel keeps foldsWords.
const foldAt = 32

// foldStart copies foldsWords to the frame, before R15 holds anything: a plugin reads a variable by way of R15.
func (k kernel) foldStart(s *source, at int) {
	if k.folds {
		s.op("MOVBLZX ·foldsWords(SB), AX")
		s.op("MOVQ AX, %d(SP)", at)
	}
}
