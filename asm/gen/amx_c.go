package main

// An amxC is how a kernel stores tiles that it has on the stack.
type amxC struct {
	move   string
	past   bool // the caches
	rounds bool // to bf16
}

var (
	toCache     = amxC{move: "VMOVDQU64"}
	toMemory    = amxC{move: "VMOVNTDQ", past: true}
	shortCache  = amxC{move: "VMOVDQU64", rounds: true}
	shortMemory = amxC{move: "VMOVNTDQ", past: true, rounds: true}
)

// always reports whether the tiles go by way of the stack wherever the rows lie.
func (c *amxC) always() bool { return c.past || c.rounds }

// soon returns the register with the rows to prefetch where there is no src: those that are stored next or, if they
// go past the caches, a line that is there.
func (c *amxC) soon() string {
	if c.past {
		return "R15"
	}
	return "R10"
}

// nextC writes the choice of the rows to prefetch.
func (c *amxC) nextC(s *source) {
	s.op("MOVQ %s, AX", added)
	s.op("IMULQ %s, AX", addedPitch)
	s.op("SHLQ $4, AX")
	s.op("ADDQ R8, AX")
	s.op("TESTQ R8, R8")
	s.op("CMOVQEQ %s, AX", c.soon())
}

// copy writes the copy of some rows of the tiles from R14 to R10, to which it adds src, and the prefetch of those of
// the next panel.
func (c *amxC) copy(s *source, name string) {
	s.op("CMPQ %s, $0", added)
	s.op("JEQ %sPlain", name)
	c.rows(s, true)
	s.op("JMP %sDone", name)
	s.label(name + "Plain")
	c.rows(s, false)
	s.label(name + "Done")
	s.op("ADDQ $%d, R14", rowsOfC*rowBytes)
}

func (c *amxC) rows(s *source, adds bool) {
	for i := range rowsOfC {
		s.op("VMOVDQU64 %d(R14), Z0", rowBytes*i)
		s.op("VMOVDQU64 %d(R14), Z1", rowBytes*i+64)
		if adds {
			s.op("VADDPS (R8), Z0, Z0")
			s.op("VADDPS 64(R8), Z1, Z1")
			s.op("ADDQ %s, R8", addedPitch)
		}
		stored := rowBytes
		switch {
		case c.rounds && adds:
			s.roundHalves(0, 1) // a total may be subnormal, which a sum of TDPBF16PS is not
			stored /= 2
		case c.rounds:
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
}

// Where a strip kernel keeps whether src is added, and then its pitch.
const added, addedPitch = "24(SP)", "16(SP)"

// loadC writes the load of a tile of C from R8, which the second moves on to the rows of the next panel. It changes AX.
func loadC(s *source, tile int) {
	if tile == 0 {
		s.load("lds", "AX")
	}
	s.tile(tileLoad, tile, memory{"R8", "AX", 1, 64 * tile})
	if tile == 1 {
		s.op("SHLQ $4, AX")
		s.op("ADDQ AX, R8")
	}
}

// wholeLines writes the test, for zero, whether the rows of dst are whole lines of the cache and tiles are stored
// there as they are. It changes AX.
func wholeLines(s *source) {
	s.op("MOVQ R10, AX")
	s.op("ORQ R11, AX")
	s.op("ORQ %s, AX", added)
	s.op("TESTQ $63, AX")
}

// prefetchC writes the prefetch of some rows of C: of the last byte of each line's worth, as in copy.
func prefetchC(s *source) {
	for range rowsOfC {
		s.op("PREFETCHT0 63(AX)")
		s.op("PREFETCHT0 127(AX)")
		s.op("ADDQ (SP), AX")
	}
}
