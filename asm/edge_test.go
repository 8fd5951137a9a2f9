package asm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestEdgeWhere checks which kernels have kernels for edges.
func TestEdgeWhere(t *testing.T) {
	for _, kern := range Kernels() {
		want := assembled &&
			slices.Contains([]string{"avx512bf16", "avx512", "avx2", "avx512f64", "avx2f64"}, kern.Name)
		if got := kern.Edge() != nil; got != want {
			t.Errorf("%s has an EdgeFunc: %v, want %v", kern.Name, got, want)
		}
	}
}

const edgeMaxK = 70

// TestEdge computes edges of all sizes, of an A in panels and in rows far and near, and compares them with the twins:
// the bits, what lies beside them, and that no operand changes. All lie at either end of their memory.
func TestEdge(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		if kern.Edge() == nil {
			t.Skip("has no kernels for edges")
		}
		const maxPitch = 4096 + 8
		most := 2*kern.MR + 1
		sizeC := most*(kern.NR*kern.Word+76) + canary
		mem := strip{
			newGuarded(t, (max(most, edgeMaxK)+kern.MR)*maxPitch), newGuarded(t, kern.PanelB(edgeMaxK)),
			newGuarded(t, sizeC), newGuarded(t, sizeC),
		}
		for _, values := range operands {
			t.Run(values.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(51, 52))
				for rows := 1; rows <= most; rows++ {
					for cols := 1; cols <= kern.NR; cols++ {
						for lie := range 3 {
							if (testing.Short() || raceEnabled) && (rows+cols+lie)%7 > 0 {
								continue
							}
							c := edgeCase{kern: kern, r: rows, n: cols, k: r.IntN(edgeMaxK + 1),
								source: r.IntN(sources(kern)), atEnd: r.IntN(2) == 0}
							switch lie {
							case 0:
								c.lda, c.step, c.next = kern.Word, kern.Word*kern.MR, kern.PanelA(c.k)
							case 1:
								c.lda, c.step = c.k*kern.Word+r.IntN(100), kern.Word
								c.next = kern.MR * c.lda
							case 2:
								row := most * kern.Word
								c.lda, c.step, c.next = kern.Word, row+r.IntN(maxPitch-row), kern.MR*kern.Word
							}
							if err := c.check(mem, r, values.word); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
			})
		}
	})
}

// An edgeCase is one call of an EdgeFunc.
type edgeCase struct {
	kern            *Kernel
	r, n, k         int
	lda, step, next int
	source          int  // see sources
	atEnd           bool // all operands lie at the end of their memory, otherwise at its start
}

// rowA is where row i of A begins.
func (c edgeCase) rowA(i int) int { return i/c.kern.MR*c.next + i%c.kern.MR*c.lda }

func (c edgeCase) check(mem strip, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32) error {
	kern := c.kern
	lds, ldd := pitches(r, kern, c.source)
	fill := filler(kern, r, word)
	spanA, spanC := 0, func(pitch int) int { return (c.r-1)*pitch + c.n*kern.Word }
	if c.k > 0 {
		spanA = c.rowA(c.r-1) + (c.k-1)*c.step + kern.Word
		for i := range c.r { // panels are not one row after the other
			spanA = max(spanA, c.rowA(i)+(c.k-1)*c.step+kern.Word)
		}
	}
	a, bytesA := mem.a.place(spanA, c.atEnd)
	b, bytesB := mem.b.place(kern.PanelB(c.k), c.atEnd)
	src, bytesSrc := mem.src.place(spanC(lds), c.atEnd)
	dst, _ := mem.dst.place(spanC(ldd), c.atEnd)
	for i := range bytesA {
		bytesA[i] = 0xff // a NaN between the words
	}
	for i := range c.r {
		for p := range c.k {
			fill(unsafe.Add(a, c.rowA(i)+p*c.step), kern.Word, kern.KPack)
		}
	}
	fill(b, len(bytesB), kern.KPack)
	fill(src, len(bytesSrc), 1)
	fill(dst, spanC(ldd), 1)
	src = []unsafe.Pointer{nil, dst, src, dst, src, src}[c.source]
	readOnly := [][]byte{bytesA, bytesB, bytesSrc}
	before, dstBefore := slices.Concat(readOnly...), bytes.Clone(mem.dst.mem)
	run := func(f EdgeFunc) []byte {
		copy(mem.dst.mem, dstBefore)
		f(c.r, c.n, c.k, a, c.lda, c.step, c.next, b, src, signed(lds, c.source), dst, ldd)
		return bytes.Clone(mem.dst.mem)
	}
	got := run(kern.Edge())
	report := func(format string, args ...any) error {
		return fmt.Errorf("%d rows, %d columns, k=%d lda=%d step=%d next=%d source=%d lds=%d ldd=%d atEnd=%v: %s",
			c.r, c.n, c.k, c.lda, c.step, c.next, c.source, lds, ldd, c.atEnd, fmt.Sprintf(format, args...))
	}
	if !bytes.Equal(before, slices.Concat(readOnly...)) {
		return report("an operand that is only read was written")
	}
	from := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.dst.mem))))
	for i, mul := range []KernelFunc{kern.Mul, kern.Ref} {
		twin := run(edgeGeneric(kern, mul))
		if at, got, want := mismatchC(kern, got, twin, from, spanC(ldd), ldd, c.n*kern.Word); at >= 0 {
			return report("byte %d of dst is %#x, twin %d makes it %#x", at-from, got, i, want)
		}
	}
	return nil
}
