package main

import "fmt"

// What a strip kernel stores, a parameter that package asm calls a Store: floats as they are, to or past the caches,
// or 16 bits of float32.
const (
	storePast = 1 // a bit
	storeBF16 = 2
	storeF16  = 4
)

// writeStrips writes the strip kernels of all kernels and the loops that measure their peaks.
func writeStrips(s *source) {
	for _, k := range kernels {
		k.strip(s, false)
		k.strip(s, true)
		k.peak(s)
	}
	s.words("uppers", uppers())
}

// Where a strip kernel keeps what, from SP on: the end of the rows of C to prefetch, and their pitch.
const (
	endAt = 8 * iota
	pitchAt
	stripFrame
)

// strip writes a strip kernel.
//
// The accumulators come first in the register file, row by row, then the vectors of B; what is left takes the broadcast
// words of A in turn.
//
// C comes from L3 or memory and its rows are too short and too far apart for the processor to fetch ahead, so the
// first turns of the loop over K prefetch a row each of the tile that will be stored and of the next tile of src, or
// of this one if it is added. All rows at once would hold up the loads of A and B, and fetching past the strip would
// take lines from the core that writes them. Nor do turns follow each other that fetch: lines on their way from L3
// fill the buffers that lines of A need. The rest, most of them, fetch nothing: two more loads in every turn cost 2 %
// of the speed.
//
//	BX tiles left   CX steps left   SI A   DI B   R8 src   R10 dst   R11 ldd
//	R9 lds or, while it multiplies, from the first line of a row of dst to the second
//	AX row of src to prefetch   R13 their pitch   DX row of dst to prefetch   R12 R14 R15 of A in rows its registers
//
// What goes past the caches is stored there, a line at a time, and not prefetched: B is in its place, which is there.
func (k kernel) strip(s *source, rows bool) {
	var a operandA = panelA{"SI", k.mr, k.word()}
	lie := rowsA{"SI", "R15", "R12", "R14", k.mr, k.word()}
	const params = "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd"
	if rows {
		a = lie
		s.function("rows"+k.name(), params+", lda int, to Store", stripFrame, k.doc+", A in rows.")
		s.load("lda", "R12")
	} else {
		s.function("mul"+k.name(), params+" int, to Store", stripFrame, k.doc+".")
	}
	s.load("m", "BX", "a", "SI", "src", "R8", "dst", "R10", "ldd", "R11")
	if rows {
		lie.start(s)
	}
	s.label("tile")
	s.load("b", "DI", "k", "CX")
	s.op("MOVQ R10, DX")
	s.op("MOVQ R11, R13")
	if k.stores() {
		s.op("MOVQ $64, R9")
		s.op("TESTQ $%d, %s", storePast, s.arg("to"))
		s.op("CMOVQNE DI, DX")
		s.op("CMOVQNE R9, R13")
	}
	s.op("MOVQ DX, AX")
	s.op("MOVQ R13, %d(SP)", pitchAt)
	s.op("LEAQ (DX)(R13*%d), R9", k.mr)
	s.op("MOVQ R9, %d(SP)", endAt)
	k.loadPitch(s)
	k.loadTile(s, []string{"CMPQ BX, $1", "JE start", "MOVQ R8, AX", "MOVQ R9, R13"},
		"MOVQ R8, AX", "MOVQ R9, R13", "NEGQ R13")

	s.label("start")
	if k.stores() { // whether there is a second line of the row of dst
		s.op("XORL R9, R9")
		s.op("CMPQ %s, $%d", s.arg("to"), storeBF16)
		s.op("SETLT R9")
		s.op("SHLQ $6, R9")
	}
	s.op("SUBQ $%d, CX", unroll)
	s.op("JL rest")
	s.op("PCALIGN $64")
	s.label("first")
	row := k.vecs * k.bytes()
	for o := 0; o < row; o += 64 {
		last := min(o+64, row) - 1 // as where a line begins before the row it came with the panel before
		s.op("PREFETCHT0 %d(AX)", last)
		if k.stores() && o > 0 {
			s.op("PREFETCHT0 63(DX)(R9*1)")
		} else {
			s.op("PREFETCHT0 %d(DX)", last)
		}
	}
	s.op("ADDQ R13, AX")
	s.op("ADDQ %d(SP), DX", pitchAt)
	k.turn(s, a)
	s.op("JL rest")
	k.turn(s, a)
	s.op("JL rest")
	s.op("CMPQ DX, %d(SP)", endAt)
	s.op("JNE first")

	k.loop(s, a)
	s.label("store")
	k.loadPitch(s)
	k.storeTile(s)
	if rows {
		lie.next(s, "CX")
		lie.tile(s)
	}
	s.op("DECQ BX")
	s.op("JNZ tile")
	if k.stores() {
		s.op("TESTQ $%d, %s", storePast, s.arg("to"))
		s.op("JZ done")
		s.op("SFENCE")
		s.label("done")
	}
	s.ret()
}

// loadPitch loads lds, to which a bit says that dst is added.
func (k kernel) loadPitch(s *source) {
	s.load("lds", "R9")
	s.op("ANDQ $-2, R9")
}

// stores reports whether strip kernels store anything but float32 to the caches.
func (k kernel) stores() bool { return k.zmm }

// storeTile adds src to the accumulators if that is due, and stores them: to dst as they are, added to dst, or as the
// parameter says.
func (k kernel) storeTile(s *source) {
	if !k.stores() {
		k.storeTotals(s)
		return
	}
	k.addSource(s)
	if k.dot {
		s.comment("A total, unlike a sum of VDPBF16PS, may be subnormal.")
		s.load("to", "AX")
		s.op("CMPQ AX, $%d", storeBF16)
		s.op("JGE halves")
	}
	s.label("put")
	s.load("to", "AX")
	if !k.f64 {
		s.op("CMPQ AX, $%d", storeBF16)
		s.op("JGE short")
	}
	s.op("TESTQ $%d, AX", storePast)
	s.op("JNZ past")
	k.storeFloat(s)
	s.op("JMP stored")
	s.label("past")
	k.storeRows(s, "VMOVNTPS", k.vecs)
	if k.f64 {
		s.label("stored")
		return
	}
	s.op("JMP stored")
	s.label("short")
	if k.dot {
		for i := range k.mr {
			s.roundBF16(2*i, 2*i+1, 2*i)
		}
		s.op("JMP rounded")
		s.label("halves")
	} else {
		s.op("CMPQ AX, $%d", storeF16)
		s.op("JGE f16")
	}
	s.roundStart()
	for i := range k.mr {
		s.roundHalves(2*i, 2*i+1)
	}
	if !k.dot {
		s.op("JMP rounded")
		s.label("f16")
		for i := range k.mr {
			// The immediate 0 asks for round to nearest even whatever MXCSR says.
			s.op("VCVTPS2PH $0, Z%d, Y%d", 2*i, 2*i)
			s.op("VCVTPS2PH $0, Z%d, Y%d", 2*i+1, 2*i+1)
			s.op("VINSERTF64X4 $1, Y%d, Z%d, Z%d", 2*i+1, 2*i, 2*i)
		}
	}
	s.label("rounded")
	s.op("TESTQ $%d, AX", storePast)
	s.op("JNZ pastShort")
	k.storeRows(s, "VMOVUPS", 1)
	s.op("JMP stored")
	s.label("pastShort")
	k.storeRows(s, "VMOVNTPS", 1)
	s.label("stored")
}

// storeTotals is storeTile for what is neither rounded nor past the caches.
func (k kernel) storeTotals(s *source) {
	k.addSource(s)
	s.label("put")
	k.storeFloat(s)
	s.label("stored")
}

// addSource adds src to the accumulators, or goes to put if it is not to be added.
func (k kernel) addSource(s *source) {
	s.op("TESTQ R8, R8")
	s.op("JZ put")
	s.op("TESTQ R9, R9")
	s.op("JNS put")
	for i := range k.mr {
		for v := range k.vecs {
			r := k.reg(i*k.vecs + v)
			k.float(s, "VADDPS", "%d(R8), %s, %s", v*k.bytes(), r, r)
		}
		s.op("SUBQ R9, R8")
	}
}

// storeFloat stores the accumulators to dst, or adds them to it and goes to stored.
func (k kernel) storeFloat(s *source) {
	s.op("TESTQ $1, %s", s.arg("lds"))
	s.op("JZ plain")
	for i := range k.mr {
		for v := range k.vecs {
			r := k.reg(i*k.vecs + v)
			k.float(s, "VADDPS", "%d(R10), %s, %s", v*k.bytes(), r, r)
			k.float(s, "VMOVUPS", "%s, %d(R10)", r, v*k.bytes())
		}
		s.op("ADDQ R11, R10")
	}
	s.op("JMP stored")
	s.label("plain")
	k.storeRows(s, "VMOVUPS", k.vecs)
}

// storeRows stores the first vecs vectors of each row of accumulators to dst.
func (k kernel) storeRows(s *source, move string, vecs int) {
	for i := range k.mr {
		for v := range vecs {
			k.float(s, move, "%s, %d(R10)", k.reg(i*k.vecs+v), v*k.bytes())
		}
		s.op("ADDQ R11, R10")
	}
}

// roundStart sets the constants of roundHalves, in registers that hold nothing when a tile ends: Z27 is 1, Z28 0x7fff
// and Z29 the quiet bit in each dword, Z30 the upper halves of two vectors.
func (s *source) roundStart() {
	s.op("VPTERNLOGD $0xff, Z27, Z27, Z27")
	s.op("VPSRLD $17, Z27, Z28")
	s.op("VPSRLD $31, Z27, Z27")
	s.op("VPSLLD $22, Z27, Z29")
	s.op("VMOVDQU64 ·uppers<>(SB), Z30")
}

// roundHalves writes the rounding of the float32 in the vectors low and high to a vector of bf16 in low: to nearest
// even, subnormals included. A NaN keeps its upper half and becomes quiet.
func (s *source) roundHalves(low, high int) {
	for _, r := range []int{low, high} {
		s.op("VCMPPS $3, Z%d, Z%d, K1", r, r)
		s.op("VPSRLD $16, Z%d, Z26", r)
		s.op("VPANDD Z27, Z26, Z26")
		s.op("VPADDD Z28, Z26, Z26")
		s.op("VPADDD Z%d, Z26, Z26", r)
		s.op("VPORD Z29, Z%d, K1, Z26", r)
		s.op("VMOVDQA64 Z26, Z%d", r)
	}
	s.op("VPERMT2W Z%d, Z30, Z%d", high, low)
}

// uppers selects the upper halves of the dwords of two vectors.
func uppers() (words []uint16) {
	for i := range uint16(32) {
		words = append(words, 2*i+1)
	}
	return words
}

// loadTile starts the accumulators from src and then does what is in next, or from zero: if there is no src, or if it
// is to be added at the end, as its pitch in R9 says, after what is in added. The code for start follows.
func (k kernel) loadTile(s *source, next []string, added ...string) {
	s.op("TESTQ R8, R8")
	s.op("JZ zero")
	s.op("TESTQ R9, R9")
	s.op("JS added")
	for i := range k.mr {
		for v := range k.vecs {
			k.float(s, "VMOVUPS", "%d(R8), %s", v*k.bytes(), k.reg(i*k.vecs+v))
		}
		s.op("ADDQ R9, R8")
	}
	for _, op := range next {
		s.op("%s", op)
	}
	s.op("JMP start")

	s.label("added")
	for _, op := range added {
		s.op("%s", op)
	}
	s.label("zero")
	for i := range k.mr * k.vecs {
		k.zero(s, i)
	}
}

// peakAccs returns how many independent accumulators the peak loop uses: more than latency × rate of any core, and two
// registers are left for the factors.
func (k kernel) peakAccs() int { return k.registers() * 3 / 4 }

// peak writes the register-only loop of multiply-adds.
func (k kernel) peak(s *source) {
	s.function("peak"+k.name(), "n int", 0, fmt.Sprintf("%d independent multiply-adds a turn, n turns.", k.peakAccs()))
	s.load("n", "CX")
	for i := range k.registers() {
		k.zero(s, i)
	}
	s.op("TESTQ CX, CX")
	s.op("JLE done")
	s.op("PCALIGN $64")
	s.label("loop")
	for i := range k.peakAccs() {
		k.multiply(s, i, k.registers()-1, k.registers()-2)
	}
	s.op("DECQ CX")
	s.op("JNZ loop")
	s.label("done")
	s.ret()
}
