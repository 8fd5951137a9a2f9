package main

import "fmt"

// streamsAlong are the stream kernels for rows along K.
var streamsAlong = streamTable{
	{forms: streams512, rows: streamRows, most: 2, all: 8, far: near},
	{forms: []form{pairs}, rows: streamRows, most: 2, all: 8, far: far},
	{forms: []form{words, doubles}, rows: streamRows[1:], most: 2, all: 8, far: far},
	{forms: []form{pairs, words, doubles}, rows: []int{16}, most: 1, all: 16, far: nearAndFar},
	{forms: streams256, rows: streamFew, most: 4, all: 8, ymm: true, far: nearAndFar},
}

func writeStreamsAlong(s *source) { streamsAlong.write(func(k stream) { k.along(s) }) }

// along writes the kernel for rows along K, by blocks of 64 bytes or, of AVX-512, of no more than 16 words. vecs is the
// number of slots, each a vector of columns. When a block of sums ends, for all slots at once, they are added to
// their totals in memory.
//
// The rows of a matrix often lie a power of two apart and push one another out of the first-level cache; for that
// reason the slots are at different places of their rows. What is prefetched comes between the products, a line at a
// time: sixteen prefetches at once keep the reads that follow them waiting, unless they are for the second-level
// cache.
//
//	DI streamCall   and the registers of the slots
func (k stream) along(s *source) {
	block := k.vectorB() // bytes of a row
	if k.ymm || k.is8() {
		block = 64
	}
	turn := block / k.bytes / k.kpack * k.word() * k.kernel().mr // bytes of a panel of A
	first := func(slot int) int { return k.kernel().registers() - max(8, k.rows) + slot*k.rows }
	addr := func(int) string { return "(AX)" }
	k.function(s, "Along"+k.suffix(), k.vecs*k.vector())
	for g := range k.vecs {
		s.startSlot(g)
	}
	if k.rows > k.kernel().mr {
		s.slot(1, "a", 0, slotRegs[1].a)
		s.op("ADDQ %s, %s", s.slotField(0, "used", 0), slotRegs[1].a)
	}
	if k.is8() {
		s.op("MOVQ streamCall_table(DI), AX")
		s.tables8("AX", alongTables)
	}
	s.label("start")
	for i := range k.vecs * k.rows {
		k.kernel().zero(s, first(0)+i)
	}
	s.startSums()
	s.label("loop")
	if k.ymm {
		k.slots256(s, first)
	}
	for g := range k.vecs {
		if !k.ymm {
			if g > 0 {
				s.op("CMPQ streamCall_lone(DI), $0")
				s.op("JNE next")
			}
			k.slot512(s, g, first(g))
		}
		s.nextA(g, turn)
		if k.rows > k.kernel().mr {
			s.nextA(g+1, turn)
		}
		s.nextB(g, block)
	}
	if !k.ymm && k.vecs > 1 {
		s.label("next")
	}
	s.endBlock()
	for g := range k.vecs { // all before any is stored: some may have the same address
		k.addSource(s, g, first(g), 1, addr)
	}
	for g := k.vecs - 1; g >= 0; g-- { // the first last: others that did nothing have its address
		k.store(s, g, first(g), 1, addr, nil)
		s.begun(g, k.rows)
	}
	s.op("CMPQ streamCall_k(DI), $0")
	s.op("JNE start")
	for g := k.vecs - 1; g >= 0; g-- {
		s.endSlot(g)
	}
	s.ret()
}

// slotRegs are the registers that hold, for each slot, the place in A, and the offsets in a row of what is read and
// of what is prefetched.
var slotRegs = []struct{ a, offset, fetch string }{
	{"DX", "SI", "R10"}, {"R9", "BX", "R11"}, {"R12", "CX", "R14"}, {"R13", "R8", "R15"},
}

// startSums begins blocks of sums, and endBlock ends a block of K: the next follows unless K or they are at their end.
func (s *source) startSums() {
	s.op("MOVQ streamCall_each(DI), AX")
	s.op("MOVQ AX, streamCall_left(DI)")
}

func (s *source) endBlock() {
	s.op("DECQ streamCall_k(DI)")
	s.op("JZ sums")
	s.op("DECQ streamCall_left(DI)")
	s.op("JNZ loop")
	s.label("sums")
}

// begun has the next sums of a slot added to those that have been stored.
func (s *source) begun(slot, rows int) {
	for i := range rows {
		s.slot(slot, "dst", i, "AX")
		s.op("MOVQ AX, %s", s.slotField(slot, "src", i))
	}
}

// startSlot loads the registers of a slot.
func (s *source) startSlot(slot int) {
	s.slot(slot, "a", 0, slotRegs[slot].a)
	s.op("ADDQ %s, %s", s.slotField(slot, "used", 0), slotRegs[slot].a)
	s.slot(slot, "offset", 0, slotRegs[slot].offset)
	s.slot(slot, "fetch", 0, slotRegs[slot].fetch)
}

// nextA goes on by so many bytes in A, and nextB in the rows of B and in what is prefetched of them.
func (s *source) nextA(slot, a int) { s.op("ADDQ $%d, %s", a, slotRegs[slot].a) }

func (s *source) nextB(slot, block int) {
	s.op("ADDQ $%d, %s", block, slotRegs[slot].offset)
	s.op("ADDQ $%d, %s", block, slotRegs[slot].fetch)
	s.op("CMPQ %s, streamCall_near(DI)", slotRegs[slot].fetch)
	s.op("CMOVQEQ streamCall_next(DI), %s", slotRegs[slot].fetch)
}

// endSlot stores them. The place in A may be its end, where something else begins: as an offset, since the garbage
// collector may not see the address.
func (s *source) endSlot(slot int) {
	s.op("SUBQ %s, %s", s.slotField(slot, "a", 0), slotRegs[slot].a)
	s.op("MOVQ %s, %s", slotRegs[slot].a, s.slotField(slot, "used", 0))
	s.op("MOVQ %s, %s", slotRegs[slot].offset, s.slotField(slot, "offset", 0))
	s.op("MOVQ %s, %s", slotRegs[slot].fetch, s.slotField(slot, "fetch", 0))
}

// slot512 multiplies a block of a slot whose accumulators start at register first.
//
//	Z0-Z15 B   Z16-Z23 under way   Z24-Z31 accumulators, or
//	Z0-Z7 B    Z8-Z11 under way    Z16-Z31 accumulators, half a block after the other
//
// Of float64 B takes half of these.
func (k stream) slot512(s *source, slot, first int) {
	if k.is8() {
		k.slot8(s, slot, first)
		return
	}
	if k.bytes*k.kpack < 4 {
		k.lanes(s, slot)
		for l := range 4 {
			k.kernel().quad(s, 4*l, 16, byWords)
			for w := 4 * l; w < 4*l+4; w++ {
				k.multiplyWord(s, slot, first, w, w)
			}
		}
		return
	}
	if k.rows <= 8 {
		k.halves(s, slot, 0, 1)
	}
	half, transpose := 8, s.half
	if k.form == doubles {
		half, transpose = 4, s.halfDoubles
	}
	for h := range 2 {
		at, tmp := half*h, 16
		if k.rows > 8 {
			k.halves(s, slot, h)
			at, tmp = 0, 8
		}
		for w, reg := range transpose(at, tmp) {
			k.multiplyWord(s, slot, first, half*h+w, reg)
		}
	}
}

// multiplyWord multiplies a word of each row of A and a vector of B, and prefetches, unless that was done before.
func (k stream) multiplyWord(s *source, slot, first, w, b int) {
	k.fetchWord(s, slot, w)
	k.products(s, slot, first, w, b)
}

// fetchWord is what multiplyWord prefetches.
func (k stream) fetchWord(s *source, slot, w int) {
	if !k.early() {
		s.slot(slot, "rows", w, "AX")
		k.fetchRow(s, slot)
	}
}

// products multiplies word w of each row of A and a vector of B.
func (k stream) products(s *source, slot, first, w, b int) {
	mr := k.kernel().mr
	for i := range k.rows {
		a, disp := slotRegs[slot+i/mr].a, k.word()*(w*mr+i%mr)
		if k.kpack == 2 {
			s.dotBroadcast(first+i, b, a, disp)
		} else {
			k.kernel().float(s, "VFMADD231PS.BCST", "%s, Z%d, Z%d", address(a, disp), b, first+i)
		}
	}
}

// fetchRow prefetches for the row that AX points to.
func (k stream) fetchRow(s *source, slot int) {
	s.op("%s (AX)(%s*1)", k.prefetch(), slotRegs[slot].fetch)
}

// early reports whether a row is prefetched where it is read. To the second-level cache that is faster, unless the
// products take so long that there is time for it between them.
func (k stream) early() bool { return k.far && k.rows < 6 }

// halves reads some halves, 0 and 1 or one of them, of 16 words of each row of a slot: the first of rows i and 4+i
// side by side to Zi, of rows 8+i and 12+i to Z(4+i), the next to the 8 registers after these. Of float64 there are
// half as many words, rows and registers. To insert a lane that is read takes no shuffle.
func (k stream) halves(s *source, slot int, halves ...int) {
	each := k.vector() / 4
	for i := range each {
		for q := range 4 {
			s.slot(slot, "rows", each*q+i, "AX")
			for n, h := range halves {
				addr, reg := fmt.Sprintf("%d(AX)(%s*1)", 32*h, slotRegs[slot].offset), (2*n+q/2)*each+i
				if q%2 == 0 {
					s.op("VMOVUPS %s, Y%d", addr, reg)
				} else {
					s.op("VINSERTF64X4 $1, %s, Z%d, Z%d", addr, reg, reg)
				}
			}
			if k.early() {
				k.fetchRow(s, slot)
			}
		}
	}
}

// lanes reads 16 elements of each row of a slot and widens them. It leaves lane l of row 4q+i in lane q of Z(4l+i).
func (k stream) lanes(s *source, slot int) {
	const in, tmp = 16, 20
	half := []string{"$0x88", "$0xdd"}
	for i := range 4 {
		for q := range 4 {
			s.slot(slot, "rows", 4*q+i, "AX")
			k.load512(s, fmt.Sprintf("(AX)(%s*1)", slotRegs[slot].offset), "", in+q)
		}
		for h := range 2 {
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[h], in+1, in, tmp+2*h)
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[h], in+3, in+2, tmp+2*h+1)
		}
		for l := range 4 {
			h := l % 2
			s.op("VSHUFF32X4 %s, Z%d, Z%d, Z%d", half[l/2], tmp+2*h+1, tmp+2*h, 4*l+i)
		}
	}
}

// slots256 multiplies a block of all slots, whose accumulators start at the registers that first returns, 16 bytes of
// each row at a time, see quads256. Where rows are not prefetched to the first-level cache, one slot comes after the
// other, so that a line is there until all of it is read, but for 16-bit elements, whose chains of 32 products would
// wait.
//
//	Y0-Y3 B   Y4 Y5 under way   Y6 upper halves   Y7 A   Y8-Y15 accumulators
func (k stream) slots256(s *source, first func(slot int) int) {
	k.upperHalves(s)
	depth, steps := 64/k.bytes, 16/k.bytes // of K in a block, and at a time
	times := depth / steps
	for o := range times * k.vecs {
		time, slot := o/k.vecs, o%k.vecs
		if k.far && k.bytes >= 4 {
			time, slot = o%times, o/times
		}
		at, regs := time*steps, slotRegs[slot]
		k.quads256(s, 0, func(i int) string {
			s.slot(slot, "rows", i, "AX")
			return fmt.Sprintf("%d(AX)(%s*1)", at*k.bytes, regs.offset)
		}, func(i int) {
			if i%4 == time {
				k.fetchRow(s, slot)
			}
		})
		for step := range steps {
			b := k.widened(s, 0, step, 4+step%2)
			for i := range k.rows {
				k.kernel().float(s, "VBROADCASTSS", "%d(%s), Y7", k.word()*(k.kernel().mr*(at+step)+i), regs.a)
				k.kernel().multiply(s, first(slot)+i, 7, b)
			}
		}
	}
}
