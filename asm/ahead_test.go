package asm

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// aheadBytes is the size of the memory that [aheads] point into, a multiple of every page.
const aheadBytes = 64 << 10

// lowestPointer is the lowest address that the runtime takes for a pointer, and is never mapped.
const lowestPointer = 4096

type namedAhead struct {
	name string
	next *Ahead
}

// aheads returns Aheads of all kinds into mem, which holds aheadBytes, and far from it: a prefetch never faults, so that nothing
// but time may depend on where they point.
func aheads(mem guarded, dst unsafe.Pointer) []namedAhead {
	const huge = 1 << (bits.UintSize * 5 / 8) // never done
	first := mem.first(aheadBytes)
	// In the page after mem that faults on any access or, where there are no such pages, after what is asked of mem.
	forbidden := unsafe.Add(first, aheadBytes+64)
	lowest := unsafe.Add(unsafe.Pointer(nil), lowestPointer)
	return []namedAhead{
		{"nil", nil},
		{"zero", &Ahead{}},
		{"no rows", &Ahead{first, 256, 0, 2, 0}},
		{"one chunk", &Ahead{first, AheadChunk, 1, 1, 0}},
		{"several chunks", &Ahead{first, 0, 1, 5, 0}},
		{"several rows", &Ahead{first, 4096, 3, 2, 0}},
		{"many rows", &Ahead{first, 256, huge, 1, 0}},
		{"one beside a tile", &Ahead{first, 256, huge, 2, 1}},
		{"done before a tile has its share", &Ahead{first, 256, 3, 1, 5}},
		{"no share", &Ahead{first, 256, huge, 1, -1}},
		{"one long row", &Ahead{first, 0, 1, huge, 0}},
		{"done in the last turns", &Ahead{first, 1000, 4, 2, 0}},
		{"pitch smaller than a row", &Ahead{first, 64, huge, 3, 0}},
		{"no pitch", &Ahead{first, 0, huge, 1, 0}},
		{"odd", &Ahead{unsafe.Add(first, 1), 129, huge, 1, 0}},
		{"negative pitch", &Ahead{mem.last(aheadBytes), -8192, huge, 2, 0}},
		{"ends inside a chunk", &Ahead{mem.last(1), 1, huge, 1, 0}},
		{"forbidden", &Ahead{forbidden, 100, huge, 2, 0}},
		{"lowest", &Ahead{lowest, 1 << 20, huge, 1, 0}},
		{"below zero", &Ahead{lowest, -1 << 12, huge, 1, 0}},
		{"no addresses at all", &Ahead{lowest, 1 << (bits.UintSize - 4), huge, 1, 0}},
		{"what is written", &Ahead{dst, 128, huge, 1, 0}},
	}
}

// An aheadCase is the operands of one call.
type aheadCase struct {
	words, m int
	a, b     unsafe.Pointer
	src      unsafe.Pointer
	lds      int
	dst      unsafe.Pointer
	ldd      int
	before   []uint32 // what dst holds before the call
}

// newAheadCase fills operands at the end of their memory. source is one of the sources.
func newAheadCase(k *Kernel, s strip, r *rand.Rand, words, m, source int) aheadCase {
	o := operands[r.IntN(len(operands))]
	fill := func(p unsafe.Pointer, bytes int) unsafe.Pointer {
		for i := range unsafe.Slice((*uint32)(p), bytes/4) {
			*(*uint32)(unsafe.Add(p, i*4)) = o.word(r, k.KPack)
		}
		return p
	}
	lds, ldd := pitches(r, k, source)
	span := func(pitch int) int { return (m*k.MR-1)*pitch + k.NR*4 }
	c := aheadCase{words: words, m: m, lds: lds, ldd: ldd}
	c.a = fill(s.a.last(m*k.PanelA(words)), m*k.PanelA(words))
	c.b = fill(s.b.last(k.PanelB(words)), k.PanelB(words))
	c.dst = fill(s.dst.last(span(c.ldd)), span(c.ldd))
	c.before = slices.Clone(unsafe.Slice((*uint32)(c.dst), span(c.ldd)/4))
	switch source {
	case 1, 3:
		c.src = c.dst
	case 2, 4, 5:
		c.src = fill(s.src.last(span(c.lds)), span(c.lds))
	}
	c.lds = signed(c.lds, source)
	return c
}

// run returns what dst holds after mul, until the next call. The gaps between rows are part of it.
func (c *aheadCase) run(mul KernelFunc) []uint32 {
	got := unsafe.Slice((*uint32)(c.dst), len(c.before))
	copy(got, c.before)
	mul(c.words, c.m, c.a, c.b, c.src, c.lds, c.dst, c.ldd)
	return got
}

// ahead is run for k.MulAhead.
func (c *aheadCase) ahead(k *Kernel, next *Ahead) []uint32 {
	return c.run(func(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		k.MulAhead(words, m, a, b, src, lds, dst, ldd, next)
	})
}

// TestMulAhead checks that no Ahead makes a difference to the bits: they are those of Mul and, but for the payload of a NaN, those
// of Ref.
func TestMulAhead(t *testing.T) {
	const maxK, maxM = 71, 5
	forKernels(t, func(t *testing.T, k *Kernel) {
		maxPitch := k.NR*4 + 76
		s := strip{
			newGuarded(t, maxM*k.PanelA(maxK)), newGuarded(t, k.PanelB(maxK)),
			newGuarded(t, maxM*k.MR*maxPitch), newGuarded(t, maxM*k.MR*maxPitch),
		}
		mem := newGuarded(t, aheadBytes)
		r := rand.New(rand.NewPCG(31, 32))
		every, turn := 1, 0
		switch {
		case !k.Ahead():
			every = 19 // TestMulAheadStrips says it all
		case raceEnabled || testing.Short():
			every = 7
		}
		for words := 0; words <= maxK; words += k.KStep(BF16) {
			for m := 1; m <= maxM; m++ {
				for source := range sources(k) {
					if turn++; turn%every != 0 {
						continue
					}
					c := newAheadCase(k, s, r, words, m, source)
					want := slices.Clone(c.run(k.Mul))
					for _, kind := range aheads(mem, c.dst) {
						var next Ahead
						if kind.next != nil {
							next = *kind.next
						}
						got := c.ahead(k, kind.next)
						if i := differ(got, want); i >= 0 {
							t.Fatalf("%s: k=%d m=%d source=%d lds=%d ldd=%d: row %d column %d is %#x, Mul makes it %#x",
								kind.name, words, m, source, c.lds, c.ldd, i*4/c.ldd, i*4%c.ldd/4, got[i], want[i])
						}
						if kind.next != nil && *kind.next != next {
							t.Fatalf("%s: k=%d m=%d: %+v has become %+v", kind.name, words, m, next, *kind.next)
						}
					}
					for i, w := range c.run(k.Ref) {
						in := i*4%c.ldd < k.NR*4
						if w != want[i] && !(in && sameBits(math.Float32frombits(w), math.Float32frombits(want[i]))) {
							t.Fatalf("k=%d m=%d source=%d lds=%d ldd=%d: row %d column %d is %#x, the twin makes it %#x",
								words, m, source, c.lds, c.ldd, i*4/c.ldd, i*4%c.ldd/4, want[i], w)
						}
					}
				}
			}
		}
	})
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

// TestMulAheadStrips checks which kernels have a strip kernel, that MulAhead calls it, and that it is Mul for the others.
func TestMulAheadStrips(t *testing.T) {
	type call struct {
		words, m, lds, ldd int
		a, b, src, dst     unsafe.Pointer
	}
	var mem [4]byte
	at := func(i int) unsafe.Pointer { return unsafe.Pointer(&mem[i]) }
	for _, k := range Kernels() {
		strips := assembled && (k.Name == "avx512bf16" || k.Name == "avx512" || k.Name == "avx2")
		if got := k.Ahead(); got != strips {
			t.Errorf("%s has a strip kernel: %v, want %v", k.Name, got, strips)
		}
		var calls []call
		counted := *k
		counted.Mul = func(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			calls = append(calls, call{words, m, lds, ldd, a, b, src, dst})
		}
		if strips {
			if k.Supported() != nil {
				continue
			}
			c := aheadCase{m: 1, dst: aligned(k.MR * k.NR * 4), ldd: k.NR * 4, before: make([]uint32, k.MR*k.NR)}
			for i := range c.before {
				c.before[i] = 1
			}
			if got := c.ahead(&counted, &Ahead{Base: c.dst, Rows: 1, Chunks: 1}); len(calls) != 0 || differ(got, make([]uint32, len(got))) >= 0 {
				t.Errorf("%s: %d calls of Mul, want none, and zeros", k.Name, len(calls))
			}
			continue
		}
		for _, next := range []*Ahead{nil, {}, {Base: at(0), Pitch: 256, Rows: 3, Chunks: 2}} {
			calls = nil
			want := call{48, 3, 5, 6, at(0), at(1), at(2), at(3)}
			counted.MulAhead(want.words, want.m, want.a, want.b, want.src, want.lds, want.dst, want.ldd, next)
			if !slices.Equal(calls, []call{want}) {
				t.Errorf("%s: MulAhead calls Mul with %+v, want once with %+v", k.Name, calls, want)
			}
		}
	}
}

// TestMulAheadAllocs checks that an Ahead may stay on its caller's stack.
func TestMulAheadAllocs(t *testing.T) {
	forKernels(t, func(t *testing.T, k *Kernel) {
		const words, m = 64, 2
		a, b, c := aligned(m*k.PanelA(words)), aligned(k.PanelB(words)), aligned(m*k.MR*k.NR*4)
		allocs := testing.AllocsPerRun(20, func() {
			next := Ahead{Base: b, Pitch: 256, Rows: 8, Chunks: 2}
			k.MulAhead(words, m, a, b, nil, 0, c, k.NR*4, &next)
		})
		if allocs != 0 {
			t.Errorf("%v allocations a call, want none", allocs)
		}
	})
}
