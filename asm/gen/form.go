package main

// A form is a kind of source element and what becomes of it.
type form struct {
	name  string // suffix of the function names
	bytes int    // size of a source element
	kpack int    // source elements in a word
}

var (
	pairs   = form{"Pairs", 2, 2}   // two bf16 in a word
	words   = form{"Words", 4, 1}   // float32, copied
	doubles = form{"Doubles", 8, 1} // float64, copied
	bf16    = form{"BF16", 2, 1}    // bf16, widened
	f16     = form{"F16", 2, 1}     // f16, widened

	anyForm = []form{pairs, words, bf16, f16}
	asWords = []form{words, bf16, f16} // what AVX2 multiplies
)

// word is the size of a word of a panel.
func (f form) word() int { return max(4, f.bytes) }

// load512 loads 16 words, or 8 of float64, from addr into vector z, those selected by mask; the others become zero and
// are not read. For pairs the mask counts elements, otherwise words. An empty mask loads all.
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
	case doubles:
		s.op("VMOVDQU64%s %s, %sZ%d", suffix, addr, k, z)
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

// The AVX2 packers make panels of 4 or 24 words from as many rows or columns, or, of 24, from 8 or 16; other edges
// are left to their Go twin, because AVX2 has no masks that cost nothing.

// load256 loads 8 words, or 4 of float64, from addr into vector y.
func (f form) load256(s *source, addr string, y int) {
	switch f {
	case words, doubles:
		s.op("VMOVUPS %s, Y%d", addr, y)
	case bf16:
		s.op("VPMOVZXWD %s, Y%d", addr, y)
		s.op("VPSLLD $16, Y%d, Y%d", y, y)
	case f16:
		s.op("VCVTPH2PS %s, Y%d", addr, y)
	}
}
