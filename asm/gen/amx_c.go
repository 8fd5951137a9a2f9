package main

// A sideC is how a kernel stores tiles that it has on the stack.
type sideC struct {
	move   string
	past   bool // the caches
	rounds bool // to bf16
}

var (
	toCache     = sideC{move: "VMOVDQU64"}
	toMemory    = sideC{move: "VMOVNTDQ", past: true}
	shortCache  = sideC{move: "VMOVDQU64", rounds: true}
	shortMemory = sideC{move: "VMOVNTDQ", past: true, rounds: true}
)

// always reports whether the tiles go by way of the stack wherever the rows lie.
func (c *sideC) always() bool { return c.past || c.rounds }

// soon returns the register with the rows to prefetch where there is no src: those that are stored next or, if they go past the
// caches, a line that is there.
func (c *sideC) soon() string {
	if c.past {
		return "R15"
	}
	return "R10"
}

// nextC writes the choice of the rows to prefetch.
func (c *sideC) nextC(s *source) {
	s.op("MOVQ R8, AX")
	s.op("TESTQ R8, R8")
	s.op("CMOVQEQ %s, AX", c.soon())
}

// copy writes the copy of some rows of the tiles from R14 to R10, and the prefetch of those of the next panel.
func (c *sideC) copy(s *source) {
	for i := range rowsOfC {
		s.op("VMOVDQU64 %d(R14), Z0", rowBytes*i)
		s.op("VMOVDQU64 %d(R14), Z1", rowBytes*i+64)
		stored := rowBytes
		if c.rounds {
			s.roundBF16(0, 1, 0)
			stored /= 2
		}
		for o := 0; o < stored; o += 64 {
			s.op("%s Z%d, %d(R10)", c.move, o/64, o)
		}
		for o := 0; o < stored && !c.past; o += 64 {
			// The last byte, because the line of the first is there if it began in the panel before.
			s.op("PREFETCHT1 %d(R10)(R13*1)", o+63)
		}
		s.op("ADDQ R11, R10")
	}
	s.op("ADDQ $%d, R14", rowsOfC*rowBytes)
}
