package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// product is one validated C = alpha·A·B + beta·C with a row-major C: the problem, and where everything is.
type product struct {
	problem
	c, a, b     view
	alpha, beta float32
	finish      finish
	packed      packing // B, if it is packed
	past        bool    // C is larger than the caches
	turned      bool    // the caller has C' = B'·A'
}

// waiting returns where the sums from column col on wait for more of K, which another worker may
// multiply, and the bytes between their rows: in C, if that holds them as they are, or in rows of sums.
func (p *product) waiting(sums unsafe.Pointer, col int) (at unsafe.Pointer, pitch int) {
	if p.direct() {
		return p.c.at(0, col), p.c.pitch()
	}
	return unsafe.Add(sums, col*4), p.n * 4
}

// rowsB returns where element k0 + at of K of the columns from col on lies, and
// the bytes to the next of K, for a B whose rows are those of K. If B is packed, it
// is narrow, and k0 begins a stage and col a panel.
func (p *product) rowsB(k0, at, col int) (unsafe.Pointer, int) {
	if p.b.packed {
		pitch := p.kernel.NR * p.b.elem.Size()
		return unsafe.Add(p.packed.at(k0, col), at*pitch), pitch
	}
	return p.b.at(k0+at, col), p.b.pitch()
}

// packB packs n elements of K from k0 on of the columns from .. to-1 to panels.
func (p *product) packB(panels unsafe.Pointer, k0, n, from, to int) {
	k := p.kernel
	if !p.b.packed {
		k.PackB(p.b.elem, p.b.trans)(panels, p.b.at(k0, from), p.b.pitch(), to-from, n)
		return
	}
	for col := from; col < to; col += k.NR {
		at := (col - from) / k.NR * k.PanelB(p.words(n))
		src, pitch := p.rowsB(k0, 0, col)
		k.PackB(p.b.elem, false)(unsafe.Add(panels, at), src, pitch, k.NR, n)
	}
}

// strip is a piece of C one panel of B wide: rows x cols elements from
// (row, col), with its accumulators in acc, tile after tile of MR x NR.
type strip struct {
	row, col, rows, cols int
	acc                  unsafe.Pointer
	chain                unsafe.Pointer // those of a block of K after the first, if it takes several steps
	pack                 asm.Packing    // the next panel of B
}

// multiply multiplies A's panels and one panel of B, both words deep. The sums of
// a whole block of K are added to the strip's accumulators; those of a part go on
// with its chain, which is added to them where the block ends. The last result goes
// to C.
func (p *product) multiply(s *strip, words int, a, b unsafe.Pointer, ph phase) {
	k := p.kernel
	panels := (s.rows + k.MR - 1) / k.MR
	pitch := k.NR * 4
	dst, apart := s.acc, ph.added && !ph.whole
	if apart {
		dst = s.chain
	}
	src, lds := ph.source(dst, pitch)
	if apart && ph.ends && k.Onto() {
		dst, lds = s.acc, lds|1
	}
	done := 0
	if ph.last && !apart && (p.direct() || p.rounds() || p.finish.inC) && s.cols == k.NR {
		done = s.rows / k.MR
		p.multiplyWhole(s, words, done, a, b, src, lds)
		if done == panels {
			return
		}
		a = unsafe.Add(a, done*k.PanelA(words))
		src = forward(src, done*k.MR*pitch)
	}
	tiles, edges := p.splitEdges(s, words, panels-done)
	if tiles > 0 {
		p.mul(words, tiles, a, b, src, lds, dst, pitch, s, wayPlain)
	}
	rows := s.rows - done*k.MR // to come from accumulators
	if edges > 0 {
		skip := tiles * k.MR
		to, ldt := unsafe.Add(dst, skip*pitch), pitch
		if ph.last && !apart && p.direct() {
			to, ldt = p.c.at(s.row+s.rows-edges, s.col), p.c.pitch()
			rows = skip
		}
		p.multiplyEdges(edges, s.cols, words, unsafe.Add(a, tiles*k.PanelA(words)), b, forward(src, skip*pitch), lds, to, ldt)
	}
	if ph.ends && dst != s.acc {
		asm.Combine(s.acc, pitch, s.chain, pitch, rows, k.NR, 1, 1)
	}
	if ph.last && rows > 0 {
		p.epilogue(s.acc, s.row+done*k.MR, s.col, rows, s.cols)
	}
}

// splitEdges returns how many of the strip's last tiles, so many, the microkernel is to
// multiply, and how many rows after them are for edges. Who has to pack meanwhile is the
// microkernel, but few rows are so soon done that one tile had better pack alone.
func (p *product) splitEdges(s *strip, words, tiles int) (whole, rows int) {
	k := p.kernel
	rest := s.rows % k.MR
	switch {
	case k.Edge() == nil:
	case s.pack.K == 0 && s.cols < k.NR:
		return 0, s.rows
	case rest > 0 && (s.pack.K == 0 || tiles > 1 && (rest < k.MR/2 || p.packers(words, tiles, s) < tiles)):
		return tiles - 1, rest
	}
	return tiles, 0
}

// multiplyEdges multiplies rows of A's panels by the first columns of one of B.
func (p *product) multiplyEdges(rows, cols, words int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	k := p.kernel
	edge, pitch := k.Edge(), k.NR*4
	for {
		r := min(k.MR, rows)
		edge(r, cols, words, a, 4, k.MR*4, b, src, lds, dst, ldd)
		if rows -= r; rows == 0 {
			return // nothing lies behind the last tile
		}
		a, src, dst = unsafe.Add(a, k.PanelA(words)), forward(src, r*pitch), unsafe.Add(dst, r*ldd)
	}
}

// multiplyWhole multiplies the strip's whole tiles, which go from the accumulators
// straight to C.
func (p *product) multiplyWhole(s *strip, words, tiles int, a, b, src unsafe.Pointer, lds int) {
	k, how, done := p.kernel, wayPlain, 0
	pitch := k.NR * 4
	switch {
	case p.rounds():
		how = wayRound
		if done = p.packers(words, tiles, s); done > 0 {
			// The kernels that pack do not round.
			p.mul(words, done, a, b, src, lds, s.acc, pitch, s, wayPlain)
			p.epilogue(s.acc, s.row, s.col, done*k.MR, s.cols)
			if done == tiles {
				return // nothing lies behind the last tile
			}
			a, src = unsafe.Add(a, done*k.PanelA(words)), forward(src, done*k.MR*pitch)
		}
	case p.finish.inC:
		how = wayFinish
	case p.past:
		how = wayPast
	}
	p.mul(words, tiles-done, a, b, src, lds, p.c.at(s.row+done*k.MR, s.col), p.c.pitch(), s, how)
}

// Flops in one call of a microkernel, which cannot be preempted: about 100 µs
// of AVX2, or of an exact kernel.
const (
	callFlops  = 16 << 20
	exactFlops = 4 << 20
)

// callLimit returns the flops of a call of k.
func callLimit(k *asm.Kernel) int {
	if k.Arithmetic == Hopper {
		return exactFlops
	}
	return callFlops
}

// tileFlops returns the flops of a register tile of k, words deep.
func tileFlops(k *asm.Kernel, words int) int { return 2 * k.KPack * k.MR * k.NR * words }

// A way is which of its multiplications a kernel is called for.
type way uint8

const (
	wayPlain  way = iota
	wayPast       // dst is C, which is larger than the caches
	wayRound      // dst is C, which has 16 bits
	wayFinish     // dst is C, where sums are to be completed
)

// packers returns how many of m tiles pack what s names.
func (p *product) packers(words, m int, s *strip) int {
	return min(m, ceilDiv(s.pack.K/p.kernel.KPack*asm.PackSteps, max(1, words)))
}

// mul calls the microkernel for m tiles, a bounded number at a time. src and lds are
// for the kernel, dst is where the tiles go, in rows ldd bytes apart. As
// many tiles as it takes pack what s names.
func (p *product) mul(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, s *strip, how way) {
	k := p.kernel
	most := max(1, callLimit(k)/tileFlops(k, max(1, words)))
	if how == wayFinish {
		most = min(most, finishRows/k.MR)
	}
	for packs := p.packers(words, m, s); m > 0; packs = 0 {
		n := min(m, most)
		switch {
		case packs > 0:
			n = packs
			k.MulPack(p.b.elem, words, n, a, b, src, lds, dst, ldd, &s.pack)
			s.pack.K = 0
		case how == wayPlain, how == wayFinish:
			k.Mul(words, n, a, b, src, lds, dst, ldd)
		case how == wayPast:
			k.MulPast(words, n, a, b, src, lds, dst, ldd)
		case how == wayRound:
			k.MulRound(p.c.elem, p.past, words, n, a, b, src, lds, dst, ldd)
		}
		if how == wayFinish {
			p.completeC(dst, n*k.MR, k.NR)
		}
		if m -= n; m == 0 {
			return // nothing lies behind the last tile
		}
		a = unsafe.Add(a, n*k.PanelA(words))
		dst = unsafe.Add(dst, n*k.MR*ldd)
		src = forward(src, n*k.MR*k.NR*4)
	}
}

// forward returns p + n, or nil if p is nil.
func forward(p unsafe.Pointer, n int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, n)
}
