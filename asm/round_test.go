package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// forRounds runs f for every kernel that rounds and every type to which it does.
func forRounds(t *testing.T, f func(t *testing.T, kern *Kernel, typ Type)) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			if kern.Stores(typ) != 0 {
				t.Run(typ.String(), func(t *testing.T) { f(t, kern, typ) })
			}
		}
	})
}

// TestRoundsWhere checks which kernels round, and to which types.
func TestRoundsWhere(t *testing.T) {
	for _, kern := range Kernels() {
		for _, typ := range []Type{BF16, F16, F32, E4M3, E5M2, numTypes, numTypes + 1, 255} {
			want := typ == BF16 && kern.Name == "goamx"
			if assembled && !want {
				want = typ == BF16 && (kern.Name == "amx" || kern.Name == "avx512bf16") ||
					(typ == BF16 || typ == F16) && kern.Name == "avx512"
			}
			if got := kern.Stores(typ) != 0; got != want {
				t.Errorf("%s rounds to %v: %v, want %v", kern.Name, typ, got, want)
			}
		}
	}
}

// A roundCase is the memory of the products that are rounded.
type roundCase struct {
	kern           *Kernel
	typ            Type
	a, b, src, dst guarded
	ldd, off       int
}

const roundMaxM, roundMaxWords, roundMaxPitch = 4, 208, 1024

func newRoundCase(t *testing.T, kern *Kernel, typ Type) *roundCase {
	rows := roundMaxM * kern.MR
	return &roundCase{
		kern: kern, typ: typ, a: newGuarded(t, rows*roundMaxPitch), b: newGuarded(t, kern.PanelB(roundMaxWords)),
		src: newGuarded(t, rows*kern.NR*4), dst: newGuarded(t, rows*(kern.NR*2+2*PastLine)+PastLine),
	}
}

// turns calls f with the words, tiles, whether there are sums before, and operands of one of all kinds.
func (c *roundCase) turns(t *testing.T, f func(r *rand.Rand, k, m int, src unsafe.Pointer, lds int) error) {
	r := rand.New(rand.NewPCG(5, 5))
	turns := 1200
	if testing.Short() || raceEnabled || c.kern.ISA == "Go" {
		turns = 60
	}
	step := max(1, c.kern.step)
	for range turns {
		k, m := r.IntN(roundMaxWords/step+1)*step, 1+r.IntN(roundMaxM)
		word := anyOperands(r)
		for _, g := range []guarded{c.a, c.b, c.src} {
			mem := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(g.mem))), len(g.mem)/4)
			for i := r.IntN(5); i < len(mem); i += 5 {
				mem[i] = word(r, c.kern.KPack)
			}
		}
		c.ldd, c.off = c.kern.NR*2+[]int{0, PastLine, 2, 30, 62, 2 * PastLine}[r.IntN(6)], []int{0, 0, 2, 34}[r.IntN(4)]
		var src unsafe.Pointer
		if r.IntN(2) == 0 {
			src = c.src.last(m * c.kern.MR * c.kern.NR * 4)
		}
		if err := f(r, k, m, src, signed(c.kern.NR*4, r.IntN(5))); err != nil {
			t.Fatalf("k=%d m=%d ldd=%d offset=%d source=%v: %v", k, m, c.ldd, c.off, src != nil, err)
		}
	}
}

// same compares what two calls make of all that is in dst, in which one NaN is as good as another with anyNaN.
func (c *roundCase) same(m int, anyNaN bool, got, want func(dst unsafe.Pointer)) error {
	span := (m*c.kern.MR-1)*c.ldd + c.kern.NR*2
	run := func(f func(dst unsafe.Pointer)) []uint16 {
		all := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(c.dst.mem))), len(c.dst.mem)/2)
		for i := range all {
			all[i] = uint16(i)
		}
		at := c.dst.last(span)
		if c.off != 2 { // the end of the memory, or near it so many bytes beyond a line
			at = c.dst.last(span + c.off)
			at = unsafe.Add(at, -int(uintptr(at)%PastLine)+c.off)
		}
		f(at)
		return slices.Clone(all)
	}
	g, w := run(got), run(want)
	for i := range g {
		if g[i] != w[i] && !(anyNaN && c.isNaN(g[i]) && c.isNaN(w[i])) {
			return fmt.Errorf("element %d is %#x, want %#x", i, g[i], w[i])
		}
	}
	return nil
}

func (c *roundCase) isNaN(x uint16) bool {
	if c.typ == F16 {
		return float16.Frombits(x).IsNaN()
	}
	return bf16.BF16(x).IsNaN()
}

// TestStripRound compares what Strip rounds with Mul and its twin, rounded: on lines of the cache and elsewhere, at
// the end of the memory, with gaps between the rows that must stay as they are.
func TestStripRound(t *testing.T) {
	forRounds(t, func(t *testing.T, kern *Kernel, typ Type) {
		c := newRoundCase(t, kern, typ)
		c.turns(t, func(r *rand.Rand, k, m int, src unsafe.Pointer, lds int) error {
			a, b := c.a.last(m*kern.PanelA(k)), c.b.last(kern.PanelB(k))
			past := Store(r.IntN(2)) * StorePast
			got := func(dst unsafe.Pointer) { kern.Strip(k, m, a, b, src, lds, dst, c.ldd, 0, kern.Stores(typ)|past) }
			for i, mul := range []KernelFunc{kern.Mul, kern.Ref} {
				want := func(dst unsafe.Pointer) {
					roundGeneric(kern, mul, nil, typ).mul(k, m, a, b, src, lds, dst, c.ldd)
				}
				if err := c.same(m, i == 1, got, want); err != nil {
					return fmt.Errorf("past %v: %w", past != 0, err)
				}
				if k > 48 {
					break // the twin in Go takes long
				}
			}
			return nil
		})
	})
}

// TestStripRowsRound does the same for A in rows.
func TestStripRowsRound(t *testing.T) {
	forRounds(t, func(t *testing.T, kern *Kernel, typ Type) {
		c := newRoundCase(t, kern, typ)
		c.turns(t, func(r *rand.Rand, k, m int, src unsafe.Pointer, lds int) error {
			in := F32 // what is a word, or a pair
			if kern.KPack == 2 {
				in = BF16
			}
			lda := k*4 + []int{0, 2, 64, 100}[r.IntN(4)]
			span := 0
			if k > 0 {
				span = (m*kern.MR-1)*lda + k*4
			}
			a, b := c.a.last(span), c.b.last(kern.PanelB(k))
			past := Store(r.IntN(2)) * StorePast
			got := func(dst unsafe.Pointer) { kern.Strip(k, m, a, b, src, lds, dst, c.ldd, lda, kern.Stores(typ)|past) }
			want := func(dst unsafe.Pointer) {
				roundGeneric(kern, nil, rowsOf(kern, in), typ).rows(k, m, a, b, src, lds, dst, c.ldd, lda)
			}
			return c.same(m, false, got, want)
		})
	})
}
