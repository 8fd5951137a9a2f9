package main

import "fmt"

// packs256 are the packers with AVX2, of panels of so many words from so many rows or columns.
var packs256 = []struct{ width, n int }{{4, 4}, {24, 8}, {24, 16}, {24, 24}}

func writePacks256(s *source) {
	for _, f := range asWords {
		for _, p := range packs256 {
			transpose256(s, f, p.width, p.n)
			if p.width == 4 {
				copy256x4(s, f, 4)
			} else {
				copy256x24(s, f, p.n)
			}
		}
	}
	for _, p := range packs256 { // of half the rows; across, panels are of twice as many words
		transpose256(s, doubles, max(4, p.width/2), max(4, p.n/2))
	}
	copy256x4(s, words, 8)
}

// name256 returns the name of a packer of n rows or columns.
func name256(what string, f form, width, n int) string {
	name := fmt.Sprintf("pack%s256%sx%d", what, f.name, width)
	if n < width {
		name += fmt.Sprint("x", n)
	}
	return name
}

// transpose256 writes a packer of one panel of 4 or 24 words from n rows of contiguous K, up to 8 rows after the other,
// in blocks of 8 words; k is a multiple of 8. Rows often lie a power of two apart, and a first-level cache of 8 ways
// keeps a line of no more. For the same reason the rows after them are prefetched to the second-level cache. Of float64
// a panel is 4 or 12 and 4 rows are packed after the other.
//
//	SI rows   AX the fifth   R9 stride   R10 stride·3   R8 R11 rows to prefetch   DI dst   CX elements of K left
func transpose256(s *source, f form, width, n int) {
	s.function(name256("Along", f, width, n), "dst, src unsafe.Pointer, stride, k int", 0,
		fmt.Sprintf("A panel of %d from %d rows; k is a multiple of 8.", width, n))
	s.load("src", "BX", "stride", "R9", "k", "CX")
	s.op("LEAQ (R9)(R9*2), R10")
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	f.upperHalves(s)
	high := 32 / f.word() // rows of a group
	for group := 0; group < width; group += high {
		s.load("dst", "DI", "k", "CX")
		if group >= n {
			s.op("VXORPS Y0, Y0, Y0")
		} else {
			if group > 0 {
				s.op("LEAQ (BX)(R9*%d), BX", high)
			}
			s.op("MOVQ BX, SI")
			s.op("LEAQ (SI)(R9*4), AX")
			s.op("LEAQ (SI)(R9*%d), R8", high)
			if high == 8 {
				s.op("LEAQ (AX)(R9*8), R11")
			}
		}
		s.label(fmt.Sprintf("loop%d", group))
		switch {
		case group >= n:
			for i := range 8 {
				s.op("VMOVUPS Y0, %d(DI)", f.word()*(width*i+group))
			}
		case f == doubles:
			transposeDoubles(s, width, group)
		case width == 4:
			transpose4x8(s, f)
		default:
			f.square(s, func(i int) string { return row256(i, 0, "SI", "AX") },
				func(i int) { s.op("PREFETCHT1 %s", row256(i, 0, "R8", "R11")) },
				func(i, reg int) { s.op("VMOVUPS Y%d, %d(DI)", reg, 4*(width*i+group)) })
		}
		for _, reg := range []string{"SI", "AX", "R8", "R11"} {
			s.op("ADDQ $%d, %s", 8*f.bytes, reg)
		}
		s.op("ADDQ $%d, DI", 8*f.word()*width)
		s.op("SUBQ $8, CX")
		s.op("JG loop%d", group)
	}
	s.label("done")
	s.ret()
}

// row256 returns what lies some bytes on in row i of those that begin at two registers.
func row256(i, offset int, at, fifth string) string {
	if i >= 4 {
		at = fifth
	}
	return fmt.Sprintf("%d(%s)%s", offset, at, []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[i%4])
}

// transposeDoubles packs 8 float64s of 4 rows, from row group of a panel on.
func transposeDoubles(s *source, width, group int) {
	for half := range 2 {
		doubles.square(s, func(i int) string { return row256(i, 32*half, "SI", "SI") }, func(i int) {
			switch {
			case half > 0:
			case width == 4:
				s.op("PREFETCHT0 %s", row256(i, ahead, "SI", ""))
			default:
				s.op("PREFETCHT1 %s", row256(i, 0, "R8", ""))
			}
		}, func(i, reg int) { s.op("VMOVUPS Y%d, %d(DI)", reg, 8*(width*(4*half+i)+group)) })
	}
}

// transpose4x8 packs 8 words of 4 rows.
func transpose4x8(s *source, f form) {
	for i := range 4 {
		f.load256(s, row256(i, 0, "SI", "AX"), i)
		s.op("PREFETCHT0 %s", row256(i, ahead, "SI", "AX"))
	}
	avx2.quads(s, 4, 8)
	for i := range 4 { // columns 0 1, 2 3, 4 5 and 6 7
		s.op("VPERM2F128 %s, Y%d, Y%d, Y%d", []string{"$0x20", "$0x31"}[i/2], i%2*2+1, i%2*2, 8+i)
		s.op("VMOVUPS Y%d, %d(DI)", 8+i, 32*i)
	}
}

// square reads 8 words of 8 rows, or 4 of 4 of float64, and has what it made of each step of K stored. After a row
// comes what read writes. Pairs of bf16 are transposed before they are widened, which takes half as many shuffles.
func (f form) square(s *source, row func(i int) string, read func(i int), store func(step, reg int)) {
	if f == bf16 {
		f.quads256(s, 0, row, read)
		for step := range 8 {
			store(step, f.widened(s, 0, step, 4+step%2))
		}
		return
	}
	for i := range 32 / f.word() {
		f.load256(s, row(i), i)
		read(i)
	}
	if f == doubles {
		avx2.unpackDoubles(s, 4, 4)
		for step := range 4 {
			s.op("VPERM2F128 %s, Y%d, Y%d, Y%d", []string{"$0x20", "$0x31"}[step/2], 6+step%2, 4+step%2, step)
			store(step, step)
		}
		return
	}
	avx2.quads(s, 8, 8)
	for step := range 8 {
		s.op("VPERM2F128 %s, Y%d, Y%d, Y%d", []string{"$0x20", "$0x31"}[step/4], step%4+4, step%4, 8+step)
		store(step, 8+step)
	}
}

// quads256 reads 16 bytes of each of 8 rows, the fifth row's beside the first's and so on, to four registers, and
// transposes the words of four rows within the lanes. Pairs of bf16 are transposed as words; of f16 a step is one half
// of a register. After each row comes what read writes. Of float64 there are 4 rows in two registers, of which the
// columns come to Y4 and Y5.
//
//	Y4 Y5 under way
func (f form) quads256(s *source, to int, row func(i int) string, read func(i int)) {
	each := 16 / f.word()
	for n := range 2 * each {
		i := n%2*each + n/2
		if addr := row(i); i < each {
			s.op("VMOVUPS %s, X%d", addr, to+i)
		} else {
			s.op("VINSERTF128 $1, %s, Y%d, Y%d", addr, to+i-each, to+i-each)
		}
		read(i)
	}
	if f == doubles {
		avx2.unpackDoubles(s, 2, 4)
		return
	}
	if f != f16 {
		avx2.quad(s, to, 4, byWords)
		return
	}
	avx2.quad(s, to, 4, byHalves)
	for i := range 4 {
		s.op("VPERMQ $0xd8, Y%d, Y%d", to+i, to+i)
	}
}

// upperHalves sets Y6 to a mask of the upper halves of words, if widened needs that.
func (f form) upperHalves(s *source) {
	if f == bf16 {
		s.op("VPCMPEQD Y6, Y6, Y6")
		s.op("VPSLLD $16, Y6, Y6")
	}
}

// widened returns the register for a step of K of what quads256 has read to registers from first on, which is to if it
// has to be widened.
func (f form) widened(s *source, first, step, to int) int {
	from := first + step/2
	switch {
	case f == doubles: // quads256 has put it there
	case f == words:
		return first + step
	case f == bf16 && step%2 == 0:
		s.op("VPSLLD $16, Y%d, Y%d", from, to)
	case f == bf16:
		s.op("VPAND Y%d, Y6, Y%d", from, to)
	case step%2 == 0:
		s.op("VCVTPH2PS X%d, Y%d", from, to)
	default:
		s.op("VEXTRACTF128 $1, Y%d, X%d", from, to)
		s.op("VCVTPH2PS X%d, Y%d", to, to)
	}
	return to
}

// copy256x24 writes a packer of n columns from rows of K into a panel of 24.
func copy256x24(s *source, f form, n int) {
	s.function(name256("Across", f, 24, n), "dst, src unsafe.Pointer, stride, k int", 0,
		fmt.Sprintf("A panel of 24 from %d columns.", n))
	s.load("dst", "DI", "src", "SI", "stride", "R9", "k", "CX")
	for v := n / 8; v < 3; v++ {
		s.op("VXORPS Y%d, Y%d, Y%d", v, v, v)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.label("loop")
	for v := range n / 8 {
		f.load256(s, fmt.Sprintf("%d(SI)", 8*v*f.bytes), v)
	}
	s.prefetchNext(n * f.bytes)
	for v := range 3 {
		s.op("VMOVUPS Y%d, %d(DI)", v, 32*v)
	}
	s.op("ADDQ R9, SI")
	s.op("ADDQ $96, DI")
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.ret()
}

// copy256x4 writes a packer of 16 columns from rows of K into four panels of 4 or two of 8, panel bytes apart.
//
//	SI source   R9 stride   CX steps of K left   DI R10 R11 R12 panels   R13 offset in a panel
func copy256x4(s *source, f form, width int) {
	s.function(name256("Across", f, width, width), "dst, src unsafe.Pointer, stride, k, panel int", 0,
		map[int]string{4: "16 columns into four panels of 4.", 8: "16 columns into two panels of 8."}[width])
	s.load("dst", "DI", "src", "SI", "stride", "R9", "k", "CX", "panel", "R12")
	s.op("LEAQ (DI)(R12*1), R10")
	if width == 4 {
		s.op("LEAQ (DI)(R12*2), R11")
		s.op("LEAQ (R10)(R12*2), R12")
	}
	s.op("XORQ R13, R13")
	s.op("SUBQ $2, CX")
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("loop")
	for row := range 2 {
		f.load256(s, "(SI)", 2*row)
		f.load256(s, fmt.Sprintf("%d(SI)", 8*f.bytes), 2*row+1)
		s.prefetchNext(16 * f.bytes)
		s.op("ADDQ R9, SI")
	}
	for i, panel := range panels {
		if width == 8 {
			s.op("VMOVUPS Y%d, %d(%s)(R13*1)", i, i/2*32, panels[i%2])
			continue
		}
		s.op("VPERM2F128 %s, Y%d, Y%d, Y%d", []string{"$0x20", "$0x31"}[i%2], 2+i/2, i/2, 4+i)
		s.op("VMOVUPS Y%d, (%s)(R13*1)", 4+i, panel)
	}
	s.op("ADDQ $%d, R13", 8*width)
	s.op("SUBQ $2, CX")
	s.op("JGE loop")
	s.label("rest")
	s.op("ADDQ $2, CX")
	s.op("JLE done")
	f.load256(s, "(SI)", 0)
	f.load256(s, fmt.Sprintf("%d(SI)", 8*f.bytes), 1)
	for i, panel := range panels {
		if width == 8 {
			if i < 2 {
				s.op("VMOVUPS Y%d, (%s)(R13*1)", i, panel)
			}
			continue
		}
		if i%2 == 0 {
			s.op("VMOVUPS X%d, (%s)(R13*1)", i/2, panel)
		} else {
			s.op("VEXTRACTF128 $1, Y%d, (%s)(R13*1)", i/2, panel)
		}
	}
	s.label("done")
	s.ret()
}
