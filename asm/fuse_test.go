package asm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// fuseMaxStride is the largest distance between the rows of B.
const fuseMaxStride = 4096 + 4

// fuseStrides returns distances in bytes between the rows of B: one after the other, a few elements apart, and about a page.
func fuseStrides(kern *Kernel, typ Type) []int {
	row, size := kern.NR*typ.Size(), typ.Size()
	return []int{row, row + size, row + 3*size, row + 31*size, 2 * row, 1024, 1024 + size, 4096, 4096 + size}
}

// A fuseMemory is guarded memory for the operands of a [fuseCase], and what those that are only read held.
type fuseMemory struct {
	a, b, panel, src, dst guarded
	kept                  []byte
}

// newFuseMemory returns memory for up to maxK elements of K, and for A of sizeA bytes.
func newFuseMemory(t *testing.T, kern *Kernel, maxK, sizeA int) fuseMemory {
	c := kern.MR*(kern.NR*4+76) + canary
	return fuseMemory{
		newGuarded(t, sizeA), newGuarded(t, maxK*fuseMaxStride), newGuarded(t, kern.PanelB(maxK)+2*canary),
		newGuarded(t, c), newGuarded(t, c), nil,
	}
}

// A fuseCase is one call of a FuseRowsFunc.
type fuseCase struct {
	kern   *Kernel
	typ    Type
	k      int
	stride int
	source int // see sources
	lda    int
}

// check compares the fused kernel with twins: the panel and the tile, what lies beside them, and that nothing else changes. All
// operands lie at the end of their memory, or at its start.
func (c fuseCase) check(mem *fuseMemory, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, twins ...FuseRowsFunc) error {
	kern, row := c.kern, c.kern.NR*c.typ.Size()
	kpack := 1
	if c.typ.Size() == 2 {
		kpack = 2
	}
	fill := filler(r, word)
	lds, ldd := pitches(r, kern, c.source)
	rowA := c.k / kern.KPack * 4
	spanA, spanB, spanPanel := (kern.MR-1)*c.lda+rowA, (c.k-1)*c.stride+row, kern.PanelB(c.k/kern.KPack)
	spanC := func(pitch int) int { return (kern.MR-1)*pitch + kern.NR*4 }
	for _, atEnd := range []bool{true, false} {
		place := func(g guarded, n int) unsafe.Pointer {
			if atEnd {
				return g.last(n)
			}
			return g.first(n)
		}
		a, b, dst := place(mem.a, spanA), place(mem.b, spanB), place(mem.dst, spanC(ldd))
		// Half of the panels are not aligned.
		panel, shift := place(mem.panel, spanPanel), 4*r.IntN(2)
		if atEnd {
			shift = -shift
		}
		panel = unsafe.Add(panel, shift)
		for i := range kern.MR {
			fill(unsafe.Add(a, i*c.lda), rowA, kern.KPack)
		}
		for i := range c.k {
			fill(unsafe.Add(b, i*c.stride), row, kpack)
		}
		fill(place(mem.src, spanC(lds)), spanC(lds), 1)
		fill(unsafe.Pointer(unsafe.SliceData(mem.dst.mem)), len(mem.dst.mem), 1)
		for i := range mem.panel.mem {
			mem.panel.mem[i] = 0x5a
		}
		mem.kept = mem.kept[:0]
		for _, g := range [][]byte{mem.a.mem, mem.src.mem, unsafe.Slice((*byte)(b), spanB)} {
			mem.kept = append(mem.kept, g...)
		}
		panelBefore, dstBefore := bytes.Clone(mem.panel.mem), bytes.Clone(mem.dst.mem)
		run := func(f FuseRowsFunc) (panelAfter, dstAfter []byte) {
			copy(mem.panel.mem, panelBefore)
			copy(mem.dst.mem, dstBefore)
			src := []unsafe.Pointer{nil, dst, place(mem.src, spanC(lds)), dst, place(mem.src, spanC(lds)), place(mem.src, spanC(lds))}[c.source]
			f(c.k, a, b, c.stride, panel, src, signed(lds, c.source), dst, ldd, c.lda)
			return bytes.Clone(mem.panel.mem), bytes.Clone(mem.dst.mem)
		}
		report := func(format string, args ...any) error {
			return fmt.Errorf("k=%d stride=%d source=%d lda=%d lds=%d ldd=%d atEnd=%v: %s", c.k, c.stride, c.source, c.lda, lds, ldd, atEnd, fmt.Sprintf(format, args...))
		}

		gotPanel, gotDst := run(kern.FuseRows(c.typ))
		if g := mem.kept; !bytes.Equal(g[:len(mem.a.mem)], mem.a.mem) ||
			!bytes.Equal(g[len(mem.a.mem):][:len(mem.src.mem)], mem.src.mem) ||
			!bytes.Equal(g[len(mem.a.mem)+len(mem.src.mem):], unsafe.Slice((*byte)(b), spanB)) {
			return report("an operand that is only read was written")
		}
		for _, twin := range twins {
			wantPanel, wantDst := run(twin)
			if !bytes.Equal(gotPanel, wantPanel) {
				at := mismatch(gotPanel, wantPanel)
				from := int(uintptr(panel) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.panel.mem))))
				return report("byte %d of the panel of %d is %#x, want %#x", at-from, spanPanel, gotPanel[at], wantPanel[at])
			}
			from := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.dst.mem))))
			if at, got, want := mismatchC(gotDst, wantDst, from, spanC(ldd), ldd, kern.NR*4); at >= 0 {
				return report("byte %d of dst is %#x, want %#x", at-from, got, want)
			}
		}
	}
	return nil
}

// mismatch returns the first index at which x and y, of one length, differ.
func mismatch(x, y []byte) int {
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return -1
}

// mismatchC is mismatch for memory that holds rows of float32 from one byte on, in a span of bytes, and also returns the words
// there. In the rows, and nowhere else, one NaN is as good as another.
func mismatchC(x, y []byte, from, span, pitch, row int) (at int, wordX, wordY uint32) {
	for at := 0; at < len(x); at += 4 {
		wordX, wordY := *(*uint32)(unsafe.Pointer(&x[at])), *(*uint32)(unsafe.Pointer(&y[at]))
		in := at >= from && at < from+span && (at-from)%pitch < row
		if wordX != wordY && !(in && sameBits(math.Float32frombits(wordX), math.Float32frombits(wordY))) {
			return at, wordX, wordY
		}
	}
	return -1, 0, 0
}

// anyWord makes words of all bits: of each type and in each half, normal, subnormal, infinite and NaN, quiet or not.
func anyWord(r *rand.Rand, kpack int) uint32 {
	if r.IntN(4) > 0 {
		return r.Uint32()
	}
	special := []uint32{0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7c01, 0x7dff, 0x7e00, 0xfe01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7f80, 0xff80, 0x7f81, 0x7fc0}
	return special[r.IntN(len(special))]<<16 | special[r.IntN(len(special))]
}
