package main

import "fmt"

// vdpbf16ps returns the encoding of VDPBF16PS zmmDst, zmmA, zmmB (Intel's operand order), which Go's assembler does not
// know: EVEX.512.F3.0F38.W0 52 /r (Intel SDM, vol. 2, section 2.7 for the prefix).
//
//	62 | ~R ~X ~B ~R' 0 mmm | W ~vvvv 1 pp | z L'L b ~V' aaa | 52 | 11 reg rm
//
// R' R and reg name the destination, V' vvvv the first source, X B and rm the second.
func vdpbf16ps(dst, a, b int) [6]byte {
	const (
		map0F38 = 0b010
		ppF3    = 0b10
		len512  = 0b10
		direct  = 0b11 // both operands are registers
	)
	not := func(reg, bit int) byte { return byte(^reg >> bit & 1) }
	return [6]byte{
		0x62,
		not(dst, 3)<<7 | not(b, 4)<<6 | not(b, 3)<<5 | not(dst, 4)<<4 | map0F38,
		byte(^a&15)<<3 | 1<<2 | ppF3,
		len512<<5 | not(a, 4)<<3,
		0x52,
		direct<<6 | byte(dst&7)<<3 | byte(b&7),
	}
}

// dotBF16 writes VDPBF16PS in bytes, with the mnemonic in Go's operand order in a comment.
func (s *source) dotBF16(dst, a, b int) {
	e := vdpbf16ps(dst, a, b)
	text := ""
	for i, x := range e {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("BYTE $0x%02X", x)
	}
	s.op("%s // VDPBF16PS Z%d, Z%d, Z%d", text, b, a, dst)
}
