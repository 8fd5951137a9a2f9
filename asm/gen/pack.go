package main

// A form is a kind of source element and what becomes of it.
type form struct {
	name  string // suffix of the function names
	bytes int    // size of a source element
	kpack int    // source elements in a word
}

var (
	pairs = form{"Pairs", 2, 2} // two bf16 in a word
	words = form{"Words", 4, 1} // float32, copied
	bf16  = form{"BF16", 2, 1}  // bf16, widened
	f16   = form{"F16", 2, 1}   // f16, widened
)

const (
	packTParams = "dst, src unsafe.Pointer, stride, rows, k int"
	packSParams = "dst, src unsafe.Pointer, stride, n, k, panel int"
)

// packers writes the packers. Along transposes: its source has K along the rows. Across copies: its
// source has K across the rows, stride bytes apart. The size is the width of a panel.
func packers(s *source) {
	for _, width := range []int{8, 32} {
		for _, f := range []form{pairs, words, bf16, f16} {
			transpose512(s, f, width)
		}
	}
	for _, width := range []int{8, 32} {
		for _, f := range []form{pairs, words, bf16, f16} {
			copy512(s, f, width)
		}
	}
	for _, f := range []form{words, bf16, f16} {
		transpose256(s, f, 4, 4)
		copy256x4(s, f)
		for n := 8; n <= 24; n += 8 {
			transpose256(s, f, 24, n)
			copy256x24(s, f, n)
		}
	}
	s.words("interleave", interleave())
}

// load512 loads 16 words from addr into vector z, those selected by mask; the others become zero and are not read. For
// pairs the mask counts elements, otherwise words. An empty mask loads all.
func (f form) load512(s *source, addr, mask string, z int) {
	suffix, k := "", ""
	if mask != "" {
		suffix, k = ".Z", mask+", "
	}
	switch f {
	case pairs:
		s.op("VMOVDQU16%s %s, %sZ%d", suffix, addr, k, z)
	case words:
		s.op("VMOVDQU32%s %s, %sZ%d", suffix, addr, k, z)
	case bf16:
		s.op("VPMOVZXWD%s %s, %sZ%d", suffix, addr, k, z)
		s.op("VPSLLD $16, Z%d, Z%d", z, z)
	case f16:
		s.op("VCVTPH2PS%s %s, %sZ%d", suffix, addr, k, z)
	}
}

// mask writes a mask of the low n bits, n in a register that may exceed the width of the mask.
func (s *source) mask(n, tmp, k string) {
	s.op("MOVQ $-1, %s", tmp)
	s.op("BZHIQ %s, %s, %s", n, tmp, tmp)
	s.op("KMOVQ %s, %s", tmp, k)
}
