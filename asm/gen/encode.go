package main

import "fmt"

// The instructions of AVX512-BF16, which Go's assembler does not know, with three registers in Intel's operand order:
// the destination and two sources. All are EVEX.512, or EVEX.256 where that is said, of map 0F38, W0 (Intel SDM, vol.
// 2, section 2.7):
//
//	62 | ~R ~X ~B ~R' 0 mmm | W ~vvvv 1 pp | z L'L b ~V' aaa | opcode | 11 reg rm
//
// R' R and reg name the destination, V' vvvv the first source, X B and rm the second.
type evexOp struct {
	name   string
	prefix byte // pp: 0 none, 1 66, 2 F3, 3 F2
	opcode byte
	ymm    bool // EVEX.256
}

var (
	dotPairs    = evexOp{"VDPBF16PS", 2, 0x52, false} // dst += the products of pairs
	dotPairs256 = evexOp{"VDPBF16PS", 2, 0x52, true}
	roundPairs  = evexOp{"VCVTNE2PS2BF16", 3, 0x72, false} // dst = the first source, rounded, above the second
)

// String returns the name, which ends in .256 for an EVEX.256.
func (op evexOp) String() string {
	if op.ymm {
		return op.name + ".256"
	}
	return op.name
}

// register returns how the names of the registers start.
func (op evexOp) register() string {
	if op.ymm {
		return "Y"
	}
	return "Z"
}

// evex returns the encoding of op.
func evex(op evexOp, dst, a, b int) []byte {
	const direct = 0b11 // both operands are registers
	return append(evexPrefix(op, dst, a, b, 0), direct<<6|byte(dst&7)<<3|byte(b&7))
}

// evexPrefix returns the prefix and the opcode of op, for a second source b that is a register, or memory that a
// general register of that number points to. flag is 1 for a word of memory that is broadcast.
func evexPrefix(op evexOp, dst, a, b int, flag byte) []byte {
	const (
		map0F38 = 0b010
		len256  = 0b01
		len512  = 0b10
	)
	length := byte(len512)
	if op.ymm {
		length = len256
	}
	not := func(reg, bit int) byte { return byte(^reg >> bit & 1) }
	return []byte{
		0x62,
		not(dst, 3)<<7 | not(b, 4)<<6 | not(b, 3)<<5 | not(dst, 4)<<4 | map0F38,
		byte(^a&15)<<3 | 1<<2 | op.prefix,
		length<<5 | flag<<4 | not(a, 4)<<3,
		op.opcode,
	}
}

// evexBroadcast returns the encoding of op with a word of memory, in every lane, for the second source: at a general
// register other than SP and R12 and disp, which takes one byte if it counts up to 128 words.
func evexBroadcast(op evexOp, dst, a int, base string, disp int) []byte {
	n := number(base)
	if n&7 == 4 {
		panic(op.name + " (" + base + ") takes another form")
	}
	mod, bytes := displacement(n, disp, 4)
	return append(append(evexPrefix(op, dst, a, int(n), 1), mod<<6|byte(dst&7)<<3|n&7), bytes...)
}

// displacement returns how a ModRM byte says that disp is added to a base register, and its bytes: one for few units,
// which are 1, or with EVEX the size of what is read.
func displacement(base byte, disp, unit int) (mod byte, bytes []byte) {
	switch {
	case disp == 0 && base&7 != 5:
		return 0, nil
	case disp%unit == 0 && -128 <= disp/unit && disp/unit < 128:
		return 1, []byte{byte(disp / unit)}
	}
	return 2, []byte{byte(disp), byte(disp >> 8), byte(disp >> 16), byte(disp >> 24)}
}

// dotBF16 writes VDPBF16PS.
func (s *source) dotBF16(dst, a, b int) { s.evex(dotPairs, dst, a, b) }

// dotBroadcast is dotBF16 with a word of memory in every lane of b.
func (s *source) dotBroadcast(dst, a int, base string, disp int) {
	s.raw(evexBroadcast(dotPairs, dst, a, base, disp),
		"%s.BCST %s, Z%d, Z%d", dotPairs.name, address(base, disp), a, dst)
}

// address returns an address in Go's syntax.
func address(base string, disp int) string {
	if disp == 0 {
		return "(" + base + ")"
	}
	return fmt.Sprintf("%d(%s)", disp, base)
}

// roundBF16 writes the rounding of the vectors high and low to one of bf16. What is subnormal becomes zero.
func (s *source) roundBF16(dst, high, low int) { s.evex(roundPairs, dst, high, low) }

func (s *source) evex(op evexOp, dst, a, b int) {
	reg := op.register()
	s.raw(evex(op, dst, a, b), "%s %s%d, %s%d, %s%d", op.name, reg, b, reg, a, reg, dst)
}
