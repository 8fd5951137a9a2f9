package main

import (
	"fmt"
	"math/bits"
	"slices"
)

// The AMX kernels. A tile is 16 rows of 64 bytes; TDPBF16PS adds to 16 × 16 float32 the product of 16 rows of A, 32 bf16
// each, by 16 words of K of 16 columns of B.

// An amxKernel describes an AMX kernel: rows × cols accumulator tiles in the first tile registers, tiles of A in aRegs and
// of B in bRegs, in turn.
type amxKernel struct {
	name       string
	doc        string
	rows, cols int
	aRegs      []int
	bRegs      []int
	aheadA     int  // blocks of K that A is prefetched ahead; 0 for no prefetch
	aheadB     int  // the same for B, while it is read for the first time
	nextB      bool // prefetch the next panel of B while this one is read for the last time
	rowsC      int  // rows of the next tile of C to prefetch in a block of K
	streamA    bool // TILELOADDT1 for A
	snake      bool // load a tile for the next block as soon as its register is free; 2 × 2 only
}

var (
	square = amxKernel{rows: 2, cols: 2, aRegs: []int{4, 5}, bRegs: []int{6, 7}}
	wide   = amxKernel{rows: 1, cols: 4, aRegs: []int{4, 5}, bRegs: []int{6, 7}}
	wider  = amxKernel{rows: 1, cols: 6, aRegs: []int{6}, bRegs: []int{7}}
)

// with returns a variant.
func (k amxKernel) with(name, doc string, change func(k *amxKernel)) amxKernel {
	k.name, k.doc = name, doc
	change(&k)
	return k
}

var amxKernels = []amxKernel{
	square.with("AMXSquare", "2 × 2 tiles", func(k *amxKernel) {}),
	square.with("AMXSquareA2", "2 × 2 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC = 2, 2, 4 }),
	square.with("AMXSquareA4", "2 × 2 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC = 4, 2, 4 }),
	square.with("AMXSquareNext", "2 × 2 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.nextB, k.rowsC = 2, true, 4 }),
	square.with("AMXSquareT1", "2 × 2 tiles, prefetch", func(k *amxKernel) { k.streamA, k.aheadB, k.rowsC = true, 2, 4 }),
	square.with("AMXSnake", "2 × 2 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC, k.snake = 2, 2, 4, true }),
	wide.with("AMXWide", "1 × 4 tiles", func(k *amxKernel) {}),
	wide.with("AMXWideA2", "1 × 4 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC = 2, 2, 2 }),
	wide.with("AMXWideA8", "1 × 4 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC = 8, 2, 2 }),
	wide.with("AMXWideNext", "1 × 4 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.nextB, k.rowsC = 4, true, 2 }),
	wider.with("AMXWiderA4", "1 × 6 tiles, prefetch", func(k *amxKernel) { k.aheadA, k.aheadB, k.rowsC = 4, 2, 2 }),
}

const (
	tileBytes = 16 * 64
	subPanel  = 16 * 128 // bytes of a block of K in 32 columns of B
)

func (k amxKernel) acc(i, j int) int { return i*k.cols + j }

// loadA writes the load of tile i of A of the block at SI.
func (k amxKernel) loadA(s *source, reg, i int) {
	s.tile(k.loadOp(), reg, memory{"SI", "R12", 1, i * tileBytes})
}

func (k amxKernel) loadOp() tileOp {
	if k.streamA {
		return tileLoadT1
	}
	return tileLoad
}

// subPanels are the registers that hold the addresses of the panels of 32 columns that a panel of B consists of.
var subPanels = [3]string{"DI", "DX", "R15"}

// loadB writes the load of tile j of B of the block at DI.
func (k amxKernel) loadB(s *source, reg, j int) {
	s.tile(tileLoad, reg, memory{subPanels[j/2], "R12", 2, j % 2 * 64})
}

// prefetches returns the prefetches of a block of K. In pass 0 B is read for the first time, in pass 2 for the last.
func (k amxKernel) prefetches(pass int) (ops []string) {
	if k.aheadA > 0 {
		for o := 0; o < k.rows*tileBytes; o += 64 {
			ops = append(ops, fmt.Sprintf("PREFETCHT0 %d(SI)", k.aheadA*k.rows*tileBytes+o))
		}
	}
	for _, panel := range subPanels[:k.cols/2] {
		for o := 0; o < subPanel; o += 64 {
			if pass == 0 && k.aheadB > 0 {
				ops = append(ops, fmt.Sprintf("PREFETCHT0 %d(%s)", k.aheadB*subPanel+o, panel))
			}
			if pass == 2 && k.nextB {
				ops = append(ops, fmt.Sprintf("PREFETCHT0 %d(%s)(R15*1)", o, panel))
			}
		}
	}
	return ops
}

// prefetchC writes the prefetches of rows of C, one after the other from 8(SP) to (SP) and over again.
func (k amxKernel) prefetchC(s *source) {
	for range k.rowsC {
		for j := range k.cols {
			s.op("PREFETCHT0 %d(AX)", 64*j)
		}
		s.op("ADDQ R13, AX")
	}
	if k.rowsC > 0 {
		s.op("CMPQ AX, (SP)")
		s.op("CMOVQEQ 8(SP), AX")
	}
}

// spread writes the steps with the prefetches spread evenly after them.
func (s *source) spread(steps []func(), ops []string) {
	done := 0
	for i, step := range steps {
		step()
		for end := len(ops) * (i + 1) / len(steps); done < end; done++ {
			s.op("%s", ops[done])
		}
	}
}

// block returns the steps that multiply a block of K. parity counts blocks, for the choice of registers.
func (k amxKernel) block(s *source, parity int) (steps []func()) {
	add := func(step func()) { steps = append(steps, step) }
	if k.rows == 2 {
		a, b := k.aRegs, k.bRegs
		add(func() { k.loadB(s, b[0], 0); k.loadA(s, a[0], 0) })
		add(func() { s.dotTile(k.acc(0, 0), a[0], b[0]); k.loadB(s, b[1], 1) })
		add(func() { s.dotTile(k.acc(0, 1), a[0], b[1]); k.loadA(s, a[1], 1) })
		add(func() { s.dotTile(k.acc(1, 0), a[1], b[0]) })
		add(func() { s.dotTile(k.acc(1, 1), a[1], b[1]) })
		return steps
	}
	a := k.aRegs[parity%len(k.aRegs)]
	add(func() { k.loadA(s, a, 0) })
	for j := range k.cols {
		b := k.bRegs[j%len(k.bRegs)]
		add(func() { k.loadB(s, b, j); s.dotTile(k.acc(0, j), a, b) })
	}
	return steps
}

// snakeBlock returns the steps that multiply a block of K whose tiles are loaded and, unless it is the last, load those of
// the next, which SI and DI point to. Every other block goes through the columns backwards, so that it begins with the tiles that were loaded first.
func (k amxKernel) snakeBlock(s *source, parity int, last bool) (steps []func()) {
	a, b := k.aRegs, k.bRegs
	load := func(f func()) {
		if !last {
			f()
		}
	}
	near, far := parity%2, 1-parity%2
	return []func(){
		func() { s.dotTile(k.acc(0, near), a[0], b[near]) },
		func() { s.dotTile(k.acc(0, far), a[0], b[far]); load(func() { k.loadA(s, a[0], 0) }) },
		func() { s.dotTile(k.acc(1, far), a[1], b[far]); load(func() { k.loadB(s, b[far], far) }) },
		func() {
			s.dotTile(k.acc(1, near), a[1], b[near])
			load(func() { k.loadA(s, a[1], 1); k.loadB(s, b[near], near) })
		},
	}
}

// advance moves to the next block of K.
func (k amxKernel) advance(s *source) {
	s.op("ADDQ $%d, SI", k.rows*tileBytes)
	for _, panel := range subPanels[:k.cols/2] {
		s.op("ADDQ $%d, %s", subPanel, panel)
	}
}

// depth writes the loop over K: CX blocks, at least one. It is not aligned: where a function has several such loops, Go 1.26's
// assembler does not come to an end over their padding and their jumps.
func (k amxKernel) depth(s *source, pass int) {
	name := []string{"first", "middle", "last"}[pass]
	ops := k.prefetches(pass)
	if k.snake {
		k.loadA(s, k.aRegs[0], 0)
		k.loadB(s, k.bRegs[0], 0)
		k.loadA(s, k.aRegs[1], 1)
		k.loadB(s, k.bRegs[1], 1)
		s.label(name)
		for parity := range 2 {
			k.advance(s)
			s.op("DECQ CX")
			s.op("JZ %s%d", name, parity)
			s.spread(k.snakeBlock(s, parity, false), ops)
			k.prefetchC(s)
		}
		s.op("JMP %s", name)
		for parity := range 2 {
			s.label(fmt.Sprint(name, parity))
			s.spread(k.snakeBlock(s, parity, true), nil)
			s.op("JMP store")
		}
		return
	}
	s.label(name)
	for parity := range len(k.aRegs) / k.rows {
		s.spread(k.block(s, parity), ops)
		k.prefetchC(s)
		k.advance(s)
		s.op("DECQ CX")
		s.op("JZ store")
	}
	s.op("JMP %s", name)
}

// mul writes the strip kernel; see KernelFunc for its contract.
//
// The tile registers belong to the thread, so they are configured and released within the call.
//
//	BX tiles left   CX blocks left   SI A   DI DX panels of 32 columns of B   R15 bytes of a panel, or a third panel
//	R8 src   R9 lds   R10 dst   R11 ldd   R12 64
//	AX next row to prefetch   R13 the pitch of rows   8(SP) the first   (SP) the end of them
func (k amxKernel) mul(s *source) {
	s.function("mul"+k.name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int", 16, k.doc+".")
	s.load(1, "m", "BX", "a", "SI")
	s.load(4, "src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	s.op("MOVQ $64, R12")

	s.label("tile")
	s.op("MOVQ b+24(FP), DI")
	if k.cols > 2 || k.nextB {
		s.op("MOVQ k+0(FP), R15")
		s.op("SHLQ $7, R15")
		s.op("LEAQ (DI)(R15*1), DX")
		if k.cols == 6 {
			s.op("ADDQ DX, R15")
		} else if k.cols == 4 {
			s.op("SHLQ $1, R15")
		}
	}
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	s.op("MOVQ R9, R13")
	s.op("SHLQ $4, R13")
	for i := range k.rows {
		for j := range k.cols {
			s.tile(tileLoad, k.acc(i, j), memory{"R8", "R9", 1, 64 * j})
		}
		s.op("ADDQ R13, R8")
	}
	s.op("MOVQ R8, AX")
	s.op("MOVQ R9, R13")
	s.op("CMPQ BX, $1")
	s.op("JNE start")
	s.op("MOVQ R10, AX")
	s.op("MOVQ R11, R13")
	s.op("JMP start")

	s.label("zero")
	for i := range k.rows * k.cols {
		s.zeroTile(i)
	}
	s.op("MOVQ R10, AX")
	s.op("MOVQ R11, R13")

	s.label("start")
	s.op("MOVQ AX, 8(SP)")
	s.op("MOVQ R13, CX")
	s.op("SHLQ $%d, CX", bits.TrailingZeros(uint(16*k.rows)))
	s.op("ADDQ AX, CX")
	s.op("MOVQ CX, (SP)")
	s.op("MOVQ k+0(FP), CX")
	s.op("SHRQ $4, CX")
	s.op("JZ store")
	if k.nextB {
		s.op("CMPQ BX, $1")
		s.op("JEQ nextB")
	}
	if k.aheadB > 0 {
		s.op("CMPQ BX, m+8(FP)")
		s.op("JNE again")
		k.depth(s, 0)
		s.label("again")
	}
	k.depth(s, 1)
	if k.nextB {
		s.label("nextB")
		k.depth(s, 2)
	}

	s.label("store")
	s.op("MOVQ R11, R13")
	s.op("SHLQ $4, R13")
	for i := range k.rows {
		for j := range k.cols {
			s.tile(tileStore, k.acc(i, j), memory{"R10", "R11", 1, 64 * j})
		}
		s.op("ADDQ R13, R10")
	}
	s.op("DECQ BX")
	s.op("JNZ tile")
	s.releaseTiles()
	s.ret()
}

// amxPeak writes the register-only loop: four accumulators, which hide the latency of 52 cycles at 16 cycles each.
func amxPeak(s *source) {
	s.function("peakAMX", "n int", 0, "4 independent TDPBF16PS a turn, n turns.")
	s.load(0, "n", "CX")
	s.op("LEAQ ·tiles<>(SB), AX")
	s.configTiles("AX")
	for i := range 8 {
		s.zeroTile(i)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.label("loop")
	for i := range 4 {
		s.dotTile(i, 4+i/2, 6+i%2)
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.releaseTiles()
	s.ret()
}

// tiles writes the configuration of the tile registers, palette 1: all eight have 16 rows of 64 bytes.
func (s *source) tiles() {
	config := slices.Concat([]byte{1}, make([]byte, 15))
	for range 8 {
		config = append(config, 64, 0)
	}
	config = append(config, make([]byte, 16)...)
	for range 8 {
		config = append(config, 16)
	}
	config = append(config, make([]byte, 64-len(config))...)
	var values []uint16
	for i := 0; i < len(config); i += 2 {
		values = append(values, uint16(config[i])|uint16(config[i+1])<<8)
	}
	s.words("tiles", values)
}

// amx returns the file of the AMX kernels and the packers of their A.
func amx() []byte {
	var s source
	s.WriteString(header)
	for _, k := range amxKernels {
		k.mul(&s)
	}
	amxPeak(&s)
	packLines(&s)
	packPairs16(&s)
	s.tiles()
	return s.Bytes()
}
