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
}

// tiles are pairs of bf16 that are multiplied as AMX does, 16 at a time; see the stream kernels for tiles.
var tiles = form{"Tiles", 2, 2}

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

// lanesAlong writes the kernel that goes on with the sums of 16 blocks of K, in the lanes of one vector or two, of so
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

	vecs, size, parts := 64/k.bytes(), 16, 4 // bytes of a part, and parts of a turn of the loop
	switch {
	case f == tiles:
		size, parts = 32, 2
	case k.zmm:
		size, parts = 32, 1
	}
	steps := size / f.bytes / f.kpack
	sum := func(i, j, v int) int { return k.registers() - vecs*rows*columns + vecs*(i*columns+j) + v }
	sums := func(move func(memory, reg string)) {
		s.load("sums", "AX", "pitch", "R8")
		for i := range rows {
			for j := range columns {
				for v := range vecs {
					move(fmt.Sprintf("%d(AX)%s", 64*j+v*k.bytes(), []string{"", "(R8*1)"}[i]), k.reg(sum(i, j, v)))
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
			if k.zmm { // of which there are more than registers
				s.op("MOVQ %d(SP), R%d", table+8*i, 8+i%8)
			}
			return fmt.Sprintf("%d(%s)(R%d*1)", at, all[which], 8+i%8)
		}
		fetch := func(i int) {
			if every := 64 / size; whole && i%every == 0 {
				s.op("PREFETCHT1 %d(AX)", 64*((v*parts+at/size)*16/vecs+i)/every)
			}
		}
		other := which >= len(stay)
		if !k.zmm {
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
		for i := range 16 {
			if addr, to := block(i), first+i/8*4+i%4; i/4%2 == 0 {
				s.op("VMOVUPS %s, Y%d", addr, to)
			} else {
				s.op("VINSERTF64X4 $1, %s, Z%d, Z%d", addr, to, to)
			}
			fetch(i)
		}
		words := s.half(first, tmp)
		return func(step int) int { return words[step] }
	}
	// part multiplies a part of vector v; done comes after every word of each of the others.
	part := func(at, v int, whole bool, done func(o, step int)) {
		if at == 0 && !k.zmm {
			for i := range 8 {
				s.op("MOVQ %d(SP), R%d", table+8*(8*v+i), 8+i)
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

// lanesAcross writes the kernel for any vectors, also with elements beside those of others. It puts the elements of a
// piece, 16 words of every block, side by side as float32, those of all pieces of A and of B, and then sums every pair
// of vectors.
//
//	CX words left   R8 A   R9 B   DI what is side by side
func (k kernel) lanesAcross(s *source, f form) {
	side, elements := f, f.kpack*16 // of a piece
	if f.kpack == 2 {
		side = bf16
	}
	const mxcsr = 256 // on the stack, after two tables
	s.function(fmt.Sprintf("lanesAcross%s%s", k.set(), f.name),
		"k, lanes int, a laned, b laned, sums, mem unsafe.Pointer", mxcsr+8, "Sums of 16 blocks side by side.")
	s.load("lanes", "R10")
	for table, of := range []string{"a", "b"} {
		s.load(of+"_block", "R9")
		s.blocks(128*table, of)
	}
	side.upperHalves(s)
	if f == tiles {
		s.asTiles(mxcsr)
	}
	s.load("k", "CX", "a_at", "R8", "b_at", "R9")
	s.label("loop")
	s.load("mem", "DI")
	for table, of := range []string{"a", "b"} {
		s.comment("SI piece   R10 as many bytes of the next 16 blocks, in order   " +
			"R11 pieces left   R12 R13 to the next")
		at := []string{"R8", "R9"}[table]
		s.op("MOVQ %s, SI", at)
		s.op("MOVQ %s, R10", at)
		s.op("SUBQ %s, R10", s.arg(of+"_at"))
		s.op("ADDQ %s, R10", s.arg(of+"_block"))
		s.op("SHLQ $4, R10")
		s.op("ADDQ %s, R10", s.arg(of+"_at"))
		s.load(of+"_pieces", "R11", of+"_apart", "R12", of+"_later", "R13")
		s.label("piece_" + of)
		for half := range f.kpack {
			side.aside(s, 128*table, half*16)
		}
		s.op("ADDQ $%d, DI", elements*64)
		s.op("ADDQ R12, SI")
		s.op("ADDQ R13, R10")
		s.op("DECQ R11")
		s.op("JNZ piece_%s", of)
		s.op("ADDQ %s, %s", s.arg(of+"_next"), at)
	}
	s.comment("BX words of a step   SI DI vectors of A, B   R10 R11 of them left   " +
		"R12 R13 from element to element   R15 sums")
	s.op("MOVQ $16, BX")
	s.op("CMPQ CX, BX")
	s.op("CMOVQLT CX, BX")
	s.load("mem", "SI", "a_n", "R10", "a_element", "R12", "b_element", "R13", "sums", "R15")
	s.label("row")
	s.load("a_pieces", "DI", "b_n", "R11")
	s.op("IMULQ $%d, DI", elements*64)
	s.op("ADDQ %s, DI", s.arg("mem"))
	s.label("column")
	s.op("MOVQ SI, AX")
	s.op("MOVQ DI, DX")
	k.acrossWords(s, f)
	s.op("ADDQ $64, R15")
	s.op("ADDQ %s, DI", s.arg("b_vector"))
	s.op("DECQ R11")
	s.op("JNZ column")
	s.op("ADDQ %s, SI", s.arg("a_vector"))
	s.op("DECQ R10")
	s.op("JNZ row")
	s.op("SUBQ $16, CX")
	s.op("JG loop")
	if f == tiles {
		s.op("LDMXCSR %d(SP)", mxcsr)
	}
	s.ret()
}

// acrossWords adds the products of BX words of the vectors at AX and DX to the sums at R15. R14 counts.
func (k kernel) acrossWords(s *source, f form) {
	const sum = 31 // with 512 bits
	even, odd := tileEven(sum), tileOdd(sum)
	next := func() {
		s.op("ADDQ R12, AX")
		s.op("ADDQ R13, DX")
	}
	s.op("MOVQ BX, R14")
	switch f {
	case pairs:
		s.op("VMOVUPS (R15), Z%d", sum)
		s.label("word")
		for o := range 2 { // the upper halves of float32 are bf16
			for i, at := range []string{"AX", "DX"} {
				if o == 0 {
					s.op("VPSRLD $16, (%s), Z%d", at, 16+i)
				} else {
					s.op("VPORD (%s), Z%d, Z%d", at, 16+i, 16+i)
				}
			}
			next()
		}
		k.multiply(s, sum, 16, 17)
	case tiles:
		s.op("VMOVUPS (R15), Z%d", sum)
		for _, z := range []int{even, odd} {
			k.zero(s, z)
		}
		s.label("word")
		for _, to := range []int{even, odd} {
			s.op("VMOVUPS (AX), Z20")
			s.op("VMOVUPS (DX), Z21")
			k.multiply(s, to, 20, 21)
			next()
		}
	default:
		for half := range 2 {
			s.op("VMOVUPS %d(R15), Y%d", 32*half, half)
		}
		s.label("word")
		for half := range 2 {
			s.op("VMOVUPS %d(AX), Y%d", 32*half, 2+half)
			s.op("VMOVUPS %d(DX), Y%d", 32*half, 4+half)
			k.multiply(s, half, 2+half, 4+half)
		}
		next()
	}
	s.op("DECQ R14")
	s.op("JNZ word")
	switch f {
	case pairs:
		s.op("VMOVUPS Z%d, (R15)", sum)
	case tiles:
		s.addTile(sum)
		s.op("VMOVUPS Z%d, (R15)", sum)
	default:
		for half := range 2 {
			s.op("VMOVUPS Y%d, %d(R15)", half, 32*half)
		}
	}
}

// aside puts 16 elements, from one on, of a piece at SI of 16 blocks side by side at DI, with a table of blocks, and
// brings as many bytes at R10 closer.
func (f form) aside(s *source, table, from int) {
	for half := range 4 { // of blocks, then of words
		first, at := half%2*8, half/2*8
		f.transpose8x8(s, func(i int) string {
			s.op("MOVQ %d(SP), AX", table+8*(first+i))
			return fmt.Sprintf("%d(SI)(AX*1)", (from+at)*f.bytes)
		}, func(i int) {
			if at == 0 && 64*(first+i) < 16*16*f.bytes {
				s.op("PREFETCHT1 %d(R10)", from*16*f.bytes+64*(first+i))
			}
		}, func(w, reg int) { s.op("VMOVUPS Y%d, %d(DI)", reg, 64*(from+at+w)+4*first) })
	}
}
