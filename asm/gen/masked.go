package main

import "fmt"

// A masked kernel has as many columns as its caller says. A last vector of 512 bits is masked, and has half the width
// if it is short; one of 256 bits is masked if it is short.
type masked struct {
	kernel
	short bool
	at    int // the register of the mask of AVX2
}

// called returns the kernel's name.
func (k masked) called(role string) string {
	if k.short {
		role += "Short"
	}
	return fmt.Sprintf("%s%sx%d", role, k.name(), k.vecs)
}

// setMask sets the mask of the last vector, if it has one, from parameter last, and maskOf from CX, which count the
// columns in it; they clobber CX and DX.
func (k masked) setMask(s *source) {
	if k.masks() {
		s.load("last", "CX")
		k.maskOf(s)
	}
}

func (k masked) maskOf(s *source) {
	if k.zmm {
		s.op("MOVQ $-1, DX")
		s.op("SHLQ CX, DX")
		s.op("NOTQ DX")
		s.op("KMOVW DX, K1")
		return
	}
	s.op("NEGQ CX")
	s.op("LEAQ ·firstWords<>+32(SB), DX")
	s.op("VMOVDQU (DX)(CX*%d), %s", k.word(), k.mask())
}

// column returns the name of vector register i, which holds something of the columns of vector v.
func (k masked) column(i, v int) string {
	if k.zmm && k.short && v == k.vecs-1 {
		return fmt.Sprintf("Y%d", i)
	}
	return k.reg(i)
}

// broadcast writes the broadcast of a word to a register, of as many lanes as the widest vector has.
func (k masked) broadcast(s *source, word string, reg int) {
	k.float(s, "VBROADCASTSS", "%s, %s", word, k.column(reg, 0))
}

// multiplyColumn is multiply for something of the columns of vector v.
func (k masked) multiplyColumn(s *source, acc, a, b, v int) {
	if k.dot {
		dot := dotPairs
		if k.column(acc, v) != k.reg(acc) {
			dot = dotPairs256
		}
		s.evex(dot, acc, b, a)
		return
	}
	k.float(s, "VFMADD231PS", "%s, %s, %s", k.column(a, v), k.column(b, v), k.column(acc, v))
}

// products writes the products of r words of A, of step 0, and the vectors of a row of B, which start at register b0.
// The words are broadcast to so many registers in turn, from a0 on.
func (k masked) products(s *source, a operandA, r, b0, a0, spare int) {
	for i := range r {
		w := a0 + i%spare
		k.broadcast(s, a.word(0, i), w)
		for v := range k.vecs {
			k.multiplyColumn(s, i*k.vecs+v, w, b0+v, v)
		}
	}
	a.advance(s, 1)
}

// addRows writes what adds r rows to the accumulators, from label add with r on: those up to the register at, pitch
// bytes apart, by way of register tmp. All come before any is stored, as they are if C is narrower than a vector.
func (k masked) addRows(s *source, at, pitch string, tmp int) {
	k.fromLast(s, "add", at, pitch, func(i int) {
		for v := range k.vecs {
			acc, from := k.column(i*k.vecs+v, v), fmt.Sprintf("%d(%s)", v*k.bytes(), at)
			if v == k.vecs-1 && k.masks() {
				k.move(s, v, true, from, k.column(tmp, v))
				from = k.column(tmp, v)
			}
			k.float(s, "VADDPS", "%s, %s, %s", from, acc, acc)
		}
	})
}

// fromLast writes what rows take from the last to the first, each under the label with its number.
func (k masked) fromLast(s *source, label, at, pitch string, row func(i int)) {
	for i := k.mr - 1; i >= 0; i-- {
		s.label(fmt.Sprintf("%s%d", label, i+1))
		row(i)
		if i > 0 {
			s.op("SUBQ %s, %s", pitch, at)
		}
	}
}

// moveRow writes the moves of a row between accumulators and memory.
func (k masked) moveRow(s *source, i int, load bool, at string) {
	for v := range k.vecs {
		from, to := k.column(i*k.vecs+v, v), fmt.Sprintf("%d(%s)", v*k.bytes(), at)
		if load {
			from, to = to, from
		}
		k.move(s, v, load, from, to)
	}
}

// byRows goes to the label of the number of rows that a register counts, but for that of the most rows, which follows.
func (k masked) byRows(s *source, count, label string) {
	for r := 1; r < k.mr; r++ {
		s.op("CMPQ %s, $%d", count, r)
		s.op("JEQ %s%d", label, r)
	}
}

// lastRow moves a register on to the last of r rows, pitch bytes apart; it clobbers another.
func (s *source) lastRow(r int, at, pitch, tmp string) {
	if r > 1 {
		s.op("IMUL3Q $%d, %s, %s", r-1, pitch, tmp)
		s.op("ADDQ %s, %s", tmp, at)
	}
}

// masks reports whether the last vector is masked, and mask returns the register of the mask.
func (k masked) masks() bool { return k.zmm || k.short }
func (k masked) mask() string {
	if k.zmm {
		return "K1"
	}
	return k.reg(k.at)
}

// move writes the move of vector v of a row between a register and memory, of which a load clears what is masked.
func (k masked) move(s *source, v int, load bool, from, to string) {
	switch {
	case v < k.vecs-1 || !k.masks():
		k.float(s, "VMOVUPS", "%s, %s", from, to)
	case !k.zmm:
		k.float(s, "VMASKMOVPS", "%s, %s, %s", from, k.mask(), to)
	case load:
		k.float(s, "VMOVUPS.Z", "%s, %s, %s", from, k.mask(), to)
	default:
		k.float(s, "VMOVUPS", "%s, %s, %s", from, k.mask(), to)
	}
}

// firstWords has the masks of the first words of a vector of AVX2, of any size: that of n begins n before its middle.
func firstWords() (words []uint16) {
	for i := range 2 * 16 {
		words = append(words, [2]uint16{0xffff, 0}[i/16])
	}
	return words
}
