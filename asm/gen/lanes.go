package main

import (
	"fmt"
	"slices"
)

// laned are the kernels that sum blocks of K side by side, of what, and the most pairs of a vector of A and one of B at
// a time.
var laned = []struct {
	kernel kernel
	forms  []form
	most   int
}{
	{pairs512, []form{pairs}, 4},
	{words512, []form{words}, 4}, {words512, []form{tiles}, 2},
	{words256, asWords, 2},
	{doubles512, []form{doubles}, 4}, {doubles256, []form{doubles}, 2},
}

// tiles are pairs of bf16 that are multiplied as AMX does, 16 at a time; see the stream kernels for tiles.
var tiles = form{"Tiles", 2, 2}

// again is how far behind what is brought closer of float64 the same is once more: processors leave out what they are
// asked for while too much is under way.
const again = 8 << 10

func writeLanes(s *source) {
	for _, l := range laned {
		for _, f := range l.forms {
			for _, tile := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
				if tile[0]*tile[1] <= l.most {
					l.kernel.lanesAlong(s, f, tile[0], tile[1])
				}
			}
		}
	}
	for _, f := range asWords {
		words256.lanesAcross(s, f)
	}
	pairs512.lanesAcross(s, pairs)
	words512.lanesAcross(s, tiles)
	doubles256.lanesAcross(s, doubles)
}

// blocks writes a table at disp(SP) of how far 16 blocks are from the first, of A or B; those that do not exist repeat
// the last one. R10 is how many there are, R9 how many bytes they are apart.
func (s *source) blocks(disp int, of string) {
	s.op("XORQ AX, AX")
	s.op("XORQ BX, BX")
	s.label("table_" + of)
	s.op("MOVQ AX, %d(SP)(BX*8)", disp)
	s.op("INCQ BX")
	s.op("CMPQ BX, R10")
	s.op("JGE repeat_%s", of)
	s.op("ADDQ R9, AX")
	s.label("repeat_" + of)
	s.op("CMPQ BX, $16")
	s.op("JLT table_%s", of)
}

// lanesAlong writes the kernel that goes on with the sums of 16 blocks of K, in the lanes of up to four vectors, of so
// many vectors of A and of B, whose elements lie side by side; see LanesFunc. Loads put parts of different blocks side
// by side, so that words are transposed within lanes of 128 bits, and only with AVX-512 these, too. The words of one
// operand stay in registers, those of A if there are enough, and the vectors of the other come one after the other. As
// many bytes of the next 16 blocks are brought closer, in order and evenly. A turn of the loop is a tile, if it is
// tiles, and there are no words left.
//
//	CX words left   SI BX what stays   DI DX the others   R8-R15 how far blocks are   AX what is brought closer
//	Of tiles: Z0-Z3 even and odd elements   Z16 Z17 sums of even ones   Z18 Z19 of odd ones   K7 odd elements
func (k kernel) lanesAlong(s *source, f form, rows, columns int) {
	const table, ahead, mxcsr = 0, 128, 160 // on the stack
	s.function(fmt.Sprintf("lanesAlong%s%sx%dx%d", k.set(), f.name, rows, columns),
		"k, lanes, block int, a unsafe.Pointer, apartA int, b unsafe.Pointer, apartB int, "+
			"sums unsafe.Pointer, pitch int",
		mxcsr+8, "Sums of 16 blocks side by side.")
	s.load("lanes", "R10", "block", "R9")
	s.blocks(table, "both")
	s.load("a", "SI", "b", "DI", "apartA", "BX", "apartB", "DX", "k", "CX")
	s.op("ADDQ SI, BX")
	s.op("ADDQ DI, DX")
	stay, others := []string{"SI", "BX"}[:rows], []string{"DI", "DX"}[:columns]
	turned := rows > 1 && (!k.zmm || f == tiles)
	if turned {
		stay, others = others, stay
	}
	s.op("SHLQ $4, R9")
	all := slices.Concat(stay, others)
	for i, at := range all {
		s.op("LEAQ (%s)(R9*1), AX", at)
		s.op("MOVQ AX, %d(SP)", ahead+8*i)
	}
	f.upperHalves(s)
	if f == tiles {
		s.asTiles(mxcsr)
	}

	line := 16 * k.word()                      // of the sums of two vectors
	vecs, size, parts := line/k.bytes(), 16, 4 // bytes of a part, and parts of a turn of the loop
	switch {
	case f == tiles:
		size, parts = 32, 2
	case f == doubles && k.zmm:
		size, parts = 32, 4
	case k.zmm:
		size, parts = 32, 1
	}
	steps, each := size/f.bytes/f.kpack, 16/vecs // each vector has so many blocks
	sum := func(i, j, v int) int { return k.registers() - vecs*rows*columns + vecs*(i*columns+j) + v }
	sums := func(move func(memory, reg string)) {
		s.load("sums", "AX", "pitch", "R8")
		for i := range rows {
			for j := range columns {
				for v := range vecs {
					move(fmt.Sprintf("%d(AX)%s", line*j+v*k.bytes(), []string{"", "(R8*1)"}[i]), k.reg(sum(i, j, v)))
				}
			}
		}
	}
	sums(func(memory, reg string) { s.op("VMOVUPS %s, %s", memory, reg) })

	// read reads a part of the blocks of vector v of what stays, or of one of the others, and returns the register of
	// each of its words, in which it is when that has been called.
	read := func(which, at, v int, whole bool) (word func(step int) int) {
		if whole {
			s.op("MOVQ %d(SP), AX", ahead+8*which)
		}
		block := func(i int) string {
			if each > 8 { // than which there are no more registers
				s.op("MOVQ %d(SP), R%d", table+8*i, 8+i%8)
			}
			return fmt.Sprintf("%d(%s)(R%d*1)", at, all[which], 8+i%8)
		}
		fetch := func(i int) {
			if every := 64 / size; whole && i%every == 0 {
				next := 64 * ((v*parts+at/size)*each + i) / every
				s.op("PREFETCHT1 %d(AX)", next)
				if f == doubles && k.zmm {
					s.op("PREFETCHT1 %d(AX)", next-again)
				}
			}
		}
		other := which >= len(stay)
		switch {
		case f == doubles && k.zmm:
			first := 4 * which
			if other {
				first = 8
			}
			s.halves(first, 2, block, fetch)
			words := s.halfDoubles(first, 12)
			return func(step int) int { return words[step] }
		case f == doubles:
			first := 2 * b2i(other)
			s.pairs256(first, block, fetch)
			return func(step int) int { return first + step }
		case !k.zmm:
			first, to := 0, 4
			if other {
				first, to = 7, 5
			}
			f.quads256(s, first, block, fetch)
			return func(step int) int { return f.widened(s, first, step, to) }
		}
		first, tmp := []int{0, 12}[which%2], []int{8, 0}[which%2]
		if other {
			first, tmp = 20, 12
		}
		s.halves(first, 4, block, fetch)
		words := s.half(first, tmp)
		return func(step int) int { return words[step] }
	}
	// part multiplies a part of vector v; done comes after every word of each of the others.
	part := func(at, v int, whole bool, done func(o, step int)) {
		if at == 0 && each <= 8 {
			for i := range each {
				s.op("MOVQ %d(SP), R%d", table+8*(each*v+i), 8+i)
			}
		}
		var words []func(step int) int
		for n := range stay {
			words = append(words, read(n, at, v, whole))
		}
		for o := range others {
			other := read(len(stay)+o, at, v, whole)
			for step := range steps {
				for n, word := range words {
					a, b, to := word(step), other(step), sum(n, o, v)
					if turned {
						a, b, to = b, a, sum(o, n, v)
					}
					if f == tiles {
						s.tileWord(to, a, b)
					} else {
						k.multiply(s, to, a, b)
					}
				}
				done(o, step)
			}
		}
	}
	next := func(bytes int) {
		for _, at := range all {
			s.op("ADDQ $%d, %s", bytes, at)
		}
	}

	s.op("SUBQ $%d, CX", parts*steps)
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("loop")
	if f == tiles {
		for i := range rows * columns {
			k.zero(s, tileEven(31-i))
			k.zero(s, tileOdd(31-i))
		}
	}
	for v := range vecs { // one after the other, so that a line is there until all of it is read
		for p := range parts {
			part(p*size, v, true, func(int, int) {})
		}
	}
	if f == tiles {
		for i := range rows * columns {
			s.addTile(31 - i)
		}
	}
	next(parts * size)
	for i := range all {
		s.op("ADDQ $%d, %d(SP)", 16*parts*size, ahead+8*i)
	}
	s.op("SUBQ $%d, CX", parts*steps)
	s.op("JGE loop")

	s.label("rest")
	if f == tiles {
		sums(func(memory, reg string) { s.op("VMOVUPS %s, %s", reg, memory) })
		s.op("LDMXCSR %d(SP)", mxcsr)
		s.ret()
		return
	}
	s.op("ADDQ $%d, CX", parts*steps)
	s.op("JLE done")
	s.label("part")
	for v := range vecs {
		part(0, v, false, func(o, step int) {
			if end := fmt.Sprintf("end_%d_%d", v, o); step < steps-1 {
				s.op("CMPQ CX, $%d", step+1)
				s.op("JLE %s", end)
			} else {
				s.label(end)
			}
		})
	}
	next(size)
	s.op("SUBQ $%d, CX", steps)
	s.op("JG part")

	s.label("done")
	sums(func(memory, reg string) { s.op("VMOVUPS %s, %s", reg, memory) })
	s.ret()
}

// halves reads 32 bytes of each of some rows to registers from one on, each beside those of the row that is so many on,
// for half or halfDoubles. After each row comes what read writes.
func (s *source) halves(to, apart int, row func(i int) string, read func(i int)) {
	for i := range 4 * apart {
		if addr, to := row(i), to+i/(2*apart)*apart+i%apart; i/apart%2 == 0 {
			s.op("VMOVUPS %s, Y%d", addr, to)
		} else {
			s.op("VINSERTF64X4 $1, %s, Z%d, Z%d", addr, to, to)
		}
		read(i)
	}
}

// pairs256 reads two float64s of each of 4 rows, and transposes them to two registers. After each row comes what read
// writes.
//
//	Y4 Y5 under way
func (s *source) pairs256(to int, row func(i int) string, read func(i int)) {
	for n := range 4 {
		i := n%2*2 + n/2
		if addr := row(i); i < 2 {
			s.op("VMOVUPS %s, X%d", addr, 4+i)
		} else {
			s.op("VINSERTF128 $1, %s, Y%d, Y%d", addr, 2+i, 2+i)
		}
		read(i)
	}
	s.op("VUNPCKLPD Y5, Y4, Y%d", to)
	s.op("VUNPCKHPD Y5, Y4, Y%d", to+1)
}

// asTiles has the processor round and flush as TDPBF16PS does until LDMXCSR, and sets K7 to the odd elements.
func (s *source) asTiles(mxcsr int) {
	s.op("STMXCSR %d(SP)", mxcsr)
	s.op("MOVL $%#x, %d(SP)", mxcsrTiles, mxcsr+4)
	s.op("LDMXCSR %d(SP)", mxcsr+4)
	s.op("MOVL $0xaaaaaaaa, AX")
	s.op("KMOVD AX, K7")
}

// tileEven and tileOdd return the registers of the sums of a tile that are added to another.
func tileEven(sum int) int { return sum - 14 }
func tileOdd(sum int) int  { return sum - 12 }

// tileWord adds the products of the elements of two words to the sums of a tile.
func (s *source) tileWord(sum, a, b int) {
	for i, word := range []int{a, b} {
		s.op("VPSLLD $16, Z%d, Z%d", word, i)
		s.op("VMOVDQU16.Z Z%d, K7, Z%d", word, 2+i)
	}
	s.op("VFMADD231PS Z0, Z1, Z%d", tileEven(sum))
	s.op("VFMADD231PS Z2, Z3, Z%d", tileOdd(sum))
}

// addTile adds the sums of a tile to another.
func (s *source) addTile(sum int) {
	s.op("VADDPS Z%d, Z%d, Z%d", tileOdd(sum), tileEven(sum), tileEven(sum))
	s.op("VADDPS Z%d, Z%d, Z%d", sum, tileEven(sum), sum)
}
