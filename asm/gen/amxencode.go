package main

import (
	"fmt"
	"slices"
	"strings"
)

// Go's assembler knows no AMX either. Its instructions are VEX.128 of map 0F38, W0 (Intel SDM, vol. 2, section 2.3):
//
//	C4 | ~R ~X ~B mmmmm | W ~vvvv L pp | opcode | mod reg rm | scale index base | displacement
//
// reg names a tile. A tile in memory always has an index register, which holds the distance between its rows.

// A tileOp is an instruction that moves a tile.
type tileOp struct {
	name   string
	prefix byte // pp: 0 none, 1 66, 2 F3, 3 F2
}

var (
	tileLoad   = tileOp{"TILELOADD", 3}
	tileLoadT1 = tileOp{"TILELOADDT1", 1}
	tileStore  = tileOp{"TILESTORED", 2}
)

// A memory is the address of a tile: its first row at base + disp, its rows index·scale bytes apart.
type memory struct {
	base, index string
	scale, disp int
}

var registers = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI",
	"R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// number returns the number of a general register.
func number(register string) byte {
	i := slices.Index(registers, register)
	if i < 0 {
		panic("no register " + register)
	}
	return byte(i)
}

// vex returns the prefix and the opcode of an instruction of map 0F38. x and b extend index and base; vvvv is the
// second source.
func vex(x, b, vvvv, pp, opcode byte) []byte {
	const map0F38 = 2
	return []byte{0xc4, 1<<7 | (^x&1)<<6 | (^b&1)<<5 | map0F38, (^vvvv&15)<<3 | pp, opcode}
}

// tileMemory returns the encoding of op.
func tileMemory(op tileOp, tile int, m memory) []byte {
	base, index := number(m.base), number(m.index)
	if m.index == "SP" {
		panic("SP is no index")
	}
	code := vex(index>>3, base>>3, 0, op.prefix, 0x4b)
	mod, disp := displacement(base, m.disp, 1)
	const sib = 4
	scale := byte(strings.Index("1 2 4 8", fmt.Sprint(m.scale)) / 2)
	return append(append(code, mod<<6|byte(tile)<<3|sib, scale<<6|index&7<<3|base&7), disp...)
}

// tdpbf16ps returns the encoding of TDPBF16PS tmmDst, tmmA, tmmB (Intel's operand order).
func tdpbf16ps(dst, a, b int) []byte {
	return append(vex(0, 0, byte(b), 2, 0x5c), 0xc0|byte(dst)<<3|byte(a))
}

// tilezero returns the encoding of TILEZERO.
func tilezero(tile int) []byte { return append(vex(0, 0, 0, 3, 0x49), 0xc0|byte(tile)<<3) }

// ldtilecfg returns the encoding of LDTILECFG of the memory that a register other than SP, BP, R12 and R13 points to.
func ldtilecfg(base string) []byte {
	n := number(base)
	if n&7 == 4 || n&7 == 5 {
		panic("LDTILECFG (" + base + ") takes another form")
	}
	return append(vex(0, n>>3, 0, 0, 0x49), n&7)
}

// tilerelease returns the encoding of TILERELEASE.
func tilerelease() []byte { return append(vex(0, 0, 0, 0, 0x49), 0xc0) }

// raw writes an instruction in bytes, with its mnemonic in Go's operand order in a comment.
func (s *source) raw(code []byte, mnemonic string, args ...any) {
	var text []string
	for _, x := range code {
		text = append(text, fmt.Sprintf("BYTE $0x%02X", x))
	}
	s.op("%s // "+mnemonic, append([]any{strings.Join(text, "; ")}, args...)...)
}

// String returns the address in Go's syntax.
func (m memory) String() string {
	return fmt.Sprintf("%s(%s*%d)", address(m.base, m.disp), m.index, m.scale)
}

func (s *source) tile(op tileOp, tile int, m memory) {
	if op == tileStore {
		s.raw(tileMemory(op, tile, m), "%s TMM%d, %v", op.name, tile, m)
	} else {
		s.raw(tileMemory(op, tile, m), "%s %v, TMM%d", op.name, m, tile)
	}
}

func (s *source) dotTile(dst, a, b int) {
	s.raw(tdpbf16ps(dst, a, b), "TDPBF16PS TMM%d, TMM%d, TMM%d", b, a, dst)
}

func (s *source) zeroTile(tile int)       { s.raw(tilezero(tile), "TILEZERO TMM%d", tile) }
func (s *source) configTiles(base string) { s.raw(ldtilecfg(base), "LDTILECFG (%s)", base) }
func (s *source) releaseTiles()           { s.raw(tilerelease(), "TILERELEASE") }

// tiles writes the configuration of the tile registers, palette 1: all eight have 16 rows of 64 bytes.
func (s *source) tiles() {
	config := make([]uint16, 32)
	config[0] = 1
	for tile := range 8 {
		config[8+tile] = 64            // bytes of a row
		config[24+tile/2] = 16<<8 | 16 // rows, in bytes
	}
	s.words("tiles", config)
}
