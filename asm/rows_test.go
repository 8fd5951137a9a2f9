package asm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// rowsOf returns the strip kernel for A of type t in rows, or nil.
func rowsOf(kern *Kernel, t Type) rowsFunc {
	if !kern.InRows(t) {
		return nil
	}
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
		kern.Strip(k, m, a, b, src, lds, dst, ldd, lda, 0)
	}
}

// forRows runs f for every kernel that reads A in rows.
func forRows(t *testing.T, f func(t *testing.T, kern *Kernel, typ Type)) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			if kern.InRows(typ) {
				t.Run(typ.String(), func(t *testing.T) { f(t, kern, typ) })
			}
		}
	})
}

// TestRowsWhere checks which kernels read A in rows, and of which types.
func TestRowsWhere(t *testing.T) {
	inRows := map[string]Type{"avx512bf16": BF16, "avx512": F32, "avx2": F32, "amx": BF16, "goamx": BF16,
		"avx512f64": F64, "avx2f64": F64}
	for _, kern := range Kernels() {
		for _, typ := range []Type{BF16, F16, F32, E4M3, E5M2, F64, numTypes, numTypes + 1, 255} {
			of, ok := inRows[kern.Name]
			if got, want := kern.InRows(typ), (assembled || kern.ISA == "Go") && ok && typ == of; got != want {
				t.Errorf("%s reads %v in rows: %v, want %v", kern.Name, typ, got, want)
			}
		}
	}
}

// The largest number of words and tiles in the tests, and the largest distance between rows of A.
const rowsMaxWords, rowsMaxM, rowsMaxPitch = 304, 5, 4096 + 4

// rowsDepths returns numbers of words: all that are small, and larger ones, as far as the kernel takes them.
func rowsDepths(kern *Kernel, typ Type) (depths []int) {
	for words := range rowsMaxWords + 1 {
		if (words < 71 || slices.Contains([]int{96, 127, 128, 200, 255, rowsMaxWords}, words)) &&
			words%kern.KStep(typ) == 0 {
			depths = append(depths, words)
		}
	}
	return depths
}

// rowsPitches returns distances in bytes between rows of A of so many words: one after the other, bytes and words
// apart, and about a page.
func rowsPitches(kern *Kernel, words int) []int {
	row := words * kern.Word
	return []int{row, row + 1, row + 2, row + 3, row + 4, row + 60, row + 61, 4095, 4096, 4097, rowsMaxPitch}
}

// A rowsCase is one call of a rowsFunc.
type rowsCase struct {
	kern     *Kernel
	typ      Type
	words, m int
	lda      int
	source   int  // see sources
	atEnd    bool // all operands lie at the end of their memory, otherwise at its start
}

// check compares the kernel with twins: the tiles, what lies beside them, and that no operand changes.
func (c rowsCase) check(mem strip, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, twins ...rowsFunc) error {
	kern, row, rows := c.kern, c.kern.NR*c.kern.Word, c.m*c.kern.MR
	lds, ldd := pitches(r, kern, c.source)
	fill := filler(kern, r, word)
	spanA, spanC := (rows-1)*c.lda+c.words*kern.Word, func(pitch int) int { return (rows-1)*pitch + row }
	if c.words == 0 {
		spanA = 0 // so that not even one byte may be read
	}
	a, bytesA := mem.a.place(spanA, c.atEnd)
	b, bytesB := mem.b.place(kern.PanelB(c.words), c.atEnd)
	src, bytesSrc := mem.src.place(spanC(lds), c.atEnd)
	dst, _ := mem.dst.place(spanC(ldd), c.atEnd)
	for i := range bytesA {
		bytesA[i] = 0xff // a NaN between the rows
	}
	for i := range rows {
		fill(unsafe.Add(a, i*c.lda), c.words*kern.Word, kern.KPack)
	}
	fill(b, len(bytesB), kern.KPack)
	fill(src, len(bytesSrc), 1)
	fill(dst, spanC(ldd), 1)
	src = []unsafe.Pointer{nil, dst, src, dst, src, src}[c.source]
	readOnly := [][]byte{bytesA, bytesB, bytesSrc}
	before, dstBefore := slices.Concat(readOnly...), bytes.Clone(mem.dst.mem)
	run := func(f rowsFunc) []byte {
		copy(mem.dst.mem, dstBefore)
		f(c.words, c.m, a, b, src, signed(lds, c.source), dst, ldd, c.lda)
		return bytes.Clone(mem.dst.mem)
	}
	report := func(format string, args ...any) error {
		return fmt.Errorf("k=%d m=%d lda=%d source=%d lds=%d ldd=%d atEnd=%v: %s", c.words, c.m, c.lda, c.source, lds,
			ldd, c.atEnd, fmt.Sprintf(format, args...))
	}

	got := run(rowsOf(kern, c.typ))
	if !bytes.Equal(before, slices.Concat(readOnly...)) {
		return report("an operand that is only read was written")
	}
	from := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.dst.mem))))
	for i, twin := range twins {
		if at, got, want := mismatchC(kern, got, run(twin), from, spanC(ldd), ldd, row); at >= 0 {
			return report("byte %d of dst is %#x, twin %d makes it %#x", at-from, got, i, want)
		}
	}
	return nil
}

// anyOperands returns one of all kinds of operands.
func anyOperands(r *rand.Rand) func(r *rand.Rand, kpack int) uint32 {
	if o := r.IntN(len(operands) + 1); o < len(operands) {
		return operands[o].word
	}
	return anyWord
}

// TestRows compares the kernels that read A in rows with packing and multiplying, one after the other, for all kinds
// of operands.
func TestRows(t *testing.T) {
	forRows(t, func(t *testing.T, kern *Kernel, typ Type) {
		sizeC := rowsMaxM*kern.MR*(kern.NR*kern.Word+76) + canary
		mem := strip{
			newGuarded(t, rowsMaxM*kern.MR*rowsMaxPitch), newGuarded(t, kern.PanelB(rowsMaxWords)),
			newGuarded(t, sizeC), newGuarded(t, sizeC),
		}
		r := rand.New(rand.NewPCG(41, uint64(typ)))
		viaMul, viaRef := rowsGeneric(kern, kern.Mul, typ), rowsGeneric(kern, kern.Ref, typ)
		turn := 0
		for _, words := range rowsDepths(kern, typ) {
			for m := 1; m <= rowsMaxM; m++ {
				for _, lda := range rowsPitches(kern, words) {
					for _, atEnd := range []bool{true, false} {
						turn++
						if (raceEnabled || testing.Short() || kern.ISA == "Go") && turn%23 != 0 || words > 20 &&
							turn%3 != 0 || words > 70 && turn%5 != 0 {
							continue
						}
						twins := []rowsFunc{viaMul, viaRef}
						if r.IntN(8) > 0 {
							twins = twins[:1]
						}
						c := rowsCase{kern, typ, words, m, lda, r.IntN(sources(kern)), atEnd}
						if err := c.check(mem, r, anyOperands(r), twins...); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	})
}

// TestRowsFenced checks that nothing is read beside any row of A: each ends before a page that faults, or starts
// after one. The bits must be those of rows that lie one after the other.
func TestRowsFenced(t *testing.T) {
	forRows(t, func(t *testing.T, kern *Kernel, typ Type) {
		pitch := kern.NR * kern.Word
		fences := newFenced(t, rowsMaxM*kern.MR)
		near, b := aligned(rowsMaxM*kern.PanelA(rowsMaxWords)), aligned(kern.PanelB(rowsMaxWords))
		tiles := aligned(rowsMaxM * kern.MR * pitch)
		view := func(p unsafe.Pointer, n int) []uint32 { return unsafe.Slice((*uint32)(p), n/4) }
		r := rand.New(rand.NewPCG(45, uint64(typ)))
		fill := filler(kern, r, operands[0].word)
		fill(b, kern.PanelB(rowsMaxWords), kern.KPack)
		for _, words := range rowsDepths(kern, typ) {
			row := words * kern.Word
			for m := 1; m <= rowsMaxM; m++ {
				for _, atEnd := range []bool{true, false} {
					a, lda := unsafe.Pointer(unsafe.SliceData(fences.mem)), 2*fences.page
					if atEnd {
						a = unsafe.Add(a, fences.page-row)
					}
					for i := range m * kern.MR {
						from, to := view(unsafe.Add(a, i*lda), row), view(unsafe.Add(near, i*row), row)
						fill(unsafe.Add(a, i*lda), row, kern.KPack)
						copy(to, from)
					}
					n := m * kern.MR * pitch
					rows := func(a unsafe.Pointer, lda int) []uint32 {
						rowsOf(kern, typ)(words, m, a, b, nil, 0, tiles, pitch, lda)
						return slices.Clone(view(tiles, n))
					}
					if i := differ(rows(a, lda), rows(near, row)); i >= 0 {
						t.Fatalf("k=%d m=%d atEnd=%v: element %d differs between rows far apart and close together",
							words, m, atEnd, i)
					}
				}
			}
		}
	})
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

// mismatchC is mismatch for memory that holds rows of sums of kern from one byte on, in a span of bytes, and also
// returns the words there. In the rows, and nowhere else, one NaN is as good as another.
func mismatchC(kern *Kernel, x, y []byte, from, span, pitch, row int) (at int, wordX, wordY uint64) {
	in := func(at int) bool { return at >= from && at < from+span && (at-from)%pitch < row }
	if kern.Sum == F64 {
		return mismatchWords(x, y, in, float64s(kern).same)
	}
	return mismatchWords(x, y, in, float32s(kern).same)
}

func mismatchWords[W wordBits](
	x, y []byte, in func(at int) bool, same func(x, y W) bool,
) (at int, wordX, wordY uint64) {
	size := int(unsafe.Sizeof(W(0)))
	for at := 0; at < len(x); at += size {
		wordX, wordY := *(*W)(unsafe.Pointer(&x[at])), *(*W)(unsafe.Pointer(&y[at]))
		if wordX != wordY && !(in(at) && same(wordX, wordY)) {
			return at, uint64(wordX), uint64(wordY)
		}
	}
	return -1, 0, 0
}

// anyWord makes words of all bits: of each type and in each half, normal, subnormal, infinite and NaN, quiet or not.
func anyWord(r *rand.Rand, kpack int) uint32 {
	if r.IntN(4) > 0 {
		return r.Uint32()
	}
	special := []uint32{0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7c01, 0x7dff, 0x7e00, 0xfe01, 0x0001, 0x83ff, 0x0400,
		0x7bff, 0x7f80, 0xff80, 0x7f81, 0x7fc0}
	return special[r.IntN(len(special))]<<16 | special[r.IntN(len(special))]
}

// differ returns the first index at which x and y differ, or -1.
func differ(x, y []uint32) int {
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return -1
}
