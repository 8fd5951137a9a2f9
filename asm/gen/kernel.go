package main

import (
	"cmp"
	"fmt"
	"math/bits"
)

// A kernel describes a microkernel to generate.
type kernel struct {
	vectors
	doc   string
	mr    int  // rows of the tile
	vecs  int  // vectors in a row of the tile
	width int  // vectors in a row of a panel of B, if they are not as many
	dot   bool // VDPBF16PS, otherwise VFMADD231PS

	broadcasts int // registers for words of A, if not all that are left

	folds int // what fold is in the loop over K, see loop, if A is in panels
	fold  int // of so many words of A one is an operand of its multiply-adds, and not broadcast first
}

// unroll is the steps of K in a turn of the loop.
const unroll = 4

// The microkernels, whose panels other kernels have too.
var (
	pairs512 = kernel{vectors: avx512, doc: "8 × 32, a word is a pair of bf16", mr: 8, vecs: 2, dot: true}
	words512 = kernel{vectors: avx512, doc: "8 × 32, a word is a float32", mr: 8, vecs: 2, folds: 2}
	words256 = kernel{vectors: avx2, doc: "4 × 24, a word is a float32", mr: 4, vecs: 3}

	doubles512 = kernel{vectors: avx512.doubles(), doc: "8 × 16, a word is a float64", mr: 8, vecs: 2, folds: 2}
	doubles256 = kernel{vectors: avx2.doubles(), doc: "4 × 12, a word is a float64", mr: 4, vecs: 3}

	kernels = []kernel{pairs512, words512, words256, doubles512, doubles256}
)

// name is the suffix of the function names.
func (k kernel) name() string {
	switch {
	case k.dot:
		return k.set() + "Pairs"
	case k.f64:
		return k.set() + "Doubles"
	}
	return k.set() + "Words"
}

// rowB is the size of a row of a panel of B.
func (k kernel) rowB() int { return max(k.width, k.vecs) * k.bytes() }

// multiply writes acc += a·b on vector registers, in the order in which step writes it for a word in memory: of two
// NaN factors the processor keeps the first.
func (k kernel) multiply(s *source, acc, a, b int) {
	if k.dot {
		s.dotBF16(acc, b, a)
	} else {
		k.float(s, "VFMADD231PS", "%s, %s, %s", k.reg(a), k.reg(b), k.reg(acc))
	}
}

// zero writes a clearing of a vector register.
func (k kernel) zero(s *source, i int) {
	if k.zmm {
		s.op("VPXORD %s, %s, %s", k.reg(i), k.reg(i), k.reg(i))
	} else {
		k.float(s, "VXORPS", "%s, %s, %s", k.reg(i), k.reg(i), k.reg(i))
	}
}

// An operand of A is where the words of a step of K are: side by side in a panel, or in rows as they lie in memory.
type operandA interface {
	word(u, i int) string     // the place of word i of step u from here
	advance(s *source, n int) // by n steps
}

// panelA is a panel of mr words a step.
type panelA struct {
	at   string // register
	mr   int
	size int // of a word
}

func (a panelA) word(u, i int) string     { return fmt.Sprintf("%d(%s)", a.size*(u*a.mr+i), a.at) }
func (a panelA) advance(s *source, n int) { s.op("ADDQ $%d, %s", a.size*n*a.mr, a.at) }

// rowsA is up to 8 rows, mr of them, lda bytes apart. lda3 is a register for three times as much, and at4 one for the
// fifth row.
type rowsA struct {
	at, at4, lda, lda3 string
	mr                 int
	size               int // of a word
}

func (a rowsA) word(u, i int) string {
	at := a.at
	if i >= 4 {
		at = a.at4
	}
	return fmt.Sprintf("%d(%s)%s", a.size*u, at,
		[4]string{"", "(" + a.lda + "*1)", "(" + a.lda + "*2)", "(" + a.lda3 + "*1)"}[i%4])
}

func (a rowsA) advance(s *source, n int) {
	s.op("ADDQ $%d, %s", a.size*n, a.at)
	if a.mr > 4 {
		s.op("ADDQ $%d, %s", a.size*n, a.at4)
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
	s.op("SHLQ $%d, %s", bits.TrailingZeros(uint(a.size)), tmp)
	s.op("SUBQ %s, %s", tmp, a.at)
}

// step writes step u of a turn of the loop over K.
func (k kernel) step(s *source, a operandA, u int) {
	accs := k.mr * k.vecs
	b0, bcast := accs, accs+k.vecs
	spare := cmp.Or(k.broadcasts, k.registers()-bcast)
	row := k.rowB()
	for v := range k.vecs {
		k.float(s, "VMOVUPS", "%d(DI), %s", u*row+v*k.bytes(), k.reg(b0+v))
	}
	for i := range k.mr {
		if k.fold > 0 && i%k.fold == 0 {
			for v := range k.vecs {
				k.float(s, "VFMADD231PS.BCST", "%s, %s, %s", a.word(u, i), k.reg(b0+v), k.reg(i*k.vecs+v))
			}
			continue
		}
		r := bcast + i%spare
		k.float(s, "VBROADCASTSS", "%s, %s", a.word(u, i), k.reg(r))
		for v := range k.vecs {
			k.multiply(s, i*k.vecs+v, r, b0+v)
		}
	}
}

// turn writes a turn of the loop over K; see turned.
func (k kernel) turn(s *source, a operandA) {
	for u := range unroll {
		k.step(s, a, u)
	}
	k.turned(s, a)
}

// turned ends a turn. It leaves the flags of CX, which has fallen below zero if there is no other turn.
func (k kernel) turned(s *source, a operandA) {
	a.advance(s, unroll)
	s.op("ADDQ $%d, DI", unroll*k.rowB())
	s.op("SUBQ $%d, CX", unroll)
}

// loop writes the turns that do nothing but multiply, and then the steps that are left where K ends inside a turn.
//
// A core whose other thread is busy is short of instructions rather than of loads. With some of the broadcasts folded
// into the multiply-adds, which takes a load more for each, a step has 22 instructions instead of 26, or 24 if A is
// in rows, as an operand with an index takes an instruction more.
func (k kernel) loop(s *source, a operandA) {
	most := k
	most.fold = k.folds
	if _, rows := a.(rowsA); rows {
		most.fold *= 2
	}
	s.op("PCALIGN $64")
	s.label("loop")
	most.turn(s, a)
	s.op("JGE loop")

	s.label("rest")
	s.op("ADDQ $%d, CX", unroll)
	s.op("JZ store")
	s.label("one")
	k.step(s, a, 0)
	a.advance(s, 1)
	s.op("ADDQ $%d, DI", k.rowB())
	s.op("DECQ CX")
	s.op("JNZ one")
}
