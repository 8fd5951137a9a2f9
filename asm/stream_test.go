package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// forStreams runs f for every stream kernel.
func forStreams(t *testing.T, f func(t *testing.T, kern *Kernel, typ Type, kContiguous bool)) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			for _, kContiguous := range []bool{false, true} {
				if kern.Stream(typ, kContiguous) == nil {
					continue
				}
				name := fmt.Sprintf("%v/kContiguous=%v", typ, kContiguous)
				if fars(kern, typ, kContiguous) == 1 {
					t.Run(name, func(t *testing.T) { f(t, kern, typ, kContiguous) })
					continue
				}
				for _, far := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/far=%v", name, far), func(t *testing.T) {
						defer setFar(far)()
						f(t, kern, typ, kContiguous)
					})
				}
			}
		}
	})
}

// streaming are the kernels that read B where it lies, and panels of it, in assembly; AMX and its model do, too, see
// [streams].
var streaming = []string{"avx512bf16", "avx512", "avx2", "avx512f64", "avx2f64"}

// streams reports whether a kernel does so.
func streams(kern *Kernel) bool {
	return assembled && (slices.Contains(streaming, kern.Name) || kern.step == amxStep &&
		machine().lacks(isaAVX512) == nil)
}

// twoPanels are the types of which B along K is multiplied by two panels of A, by kernel.
var twoPanels = map[string]Type{"avx512bf16": BF16, "avx512": F32, "avx512f64": F64, "avx2": numTypes,
	"avx2f64": numTypes}

// TestStreamWhere checks which kernels have stream kernels.
func TestStreamWhere(t *testing.T) {
	for _, kern := range Kernels() {
		for typ := range Type(numTypes) {
			vectors := assembled && slices.Contains(streaming, kern.Name) && kern.Accepts(typ) &&
				(!typ.is8() || kern.Name != "avx2")
			tiles := typ == BF16 && (assembled && kern.Name == "amx" || kern.Name == "goamx" && streams(kern))
			for _, kContiguous := range []bool{false, true} {
				want := (vectors || tiles) && canStream(typ)
				if got := kern.Stream(typ, kContiguous) != nil; got != want {
					t.Errorf("%s has a stream kernel for %v kContiguous=%v: %v, want %v", kern.Name, typ, kContiguous,
						got, want)
				}
				rows := 0
				switch {
				case tiles:
					rows = 8
				case vectors && kContiguous && typ == twoPanels[kern.Name]:
					rows = 2 * kern.MR
				case vectors:
					rows = kern.MR
				}
				if got := kern.StreamRows(typ, kContiguous); got != rows {
					t.Errorf("%s streams %d rows of %v kContiguous=%v, want %d", kern.Name, got, typ, kContiguous, rows)
				}
			}
		}
	}
}

// A streamCase is one call of a StreamFunc.
type streamCase struct {
	kern        *Kernel
	typ         Type
	kContiguous bool
	k, m, n     int
	add         bool // to what dst holds
	pages       bool // the rows of B's memory lie whole pages apart
}

// A streamMemory is guarded memory for the operands of a case.
type streamMemory struct{ a, b, dst, want guarded }

func newStreamMemory(t *testing.T, kern *Kernel, typ Type, k, n int) streamMemory {
	m := max(kern.MR, kern.StreamRows(typ, true))
	a, b, c := m/kern.MR*kern.PanelA(kern.Words(typ, k)), (k+9)*(n+9)*kern.Word, m*(n+9)*kern.Word
	return streamMemory{newGuarded(t, a), newGuarded(t, b), newGuarded(t, c), newGuarded(t, c)}
}

// check compares the stream kernel with mul on packed panels. All operands lie at the end of their memory, or, B and
// dst, at its start.
func (c streamCase) check(
	mem streamMemory, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, mul KernelFunc,
) error {
	size := c.typ.Size()
	lines, length := c.k, c.n // of B as it lies in memory
	if c.kContiguous {
		lines, length = c.n, c.k
	}
	fillWords := filler(c.kern, r, word)
	fill := func(p unsafe.Pointer, bytes int) {
		kpack := 1
		if size == 2 {
			kpack = 2
		}
		fillWords(p, bytes, kpack)
		for i, w := bytes&^3, word(r, kpack); i < bytes; i, w = i+1, w>>8 {
			*(*byte)(unsafe.Add(p, i)) = byte(w)
		}
	}
	panels, words := (c.m+c.kern.MR-1)/c.kern.MR, c.kern.Words(c.typ, c.k)
	a := mem.a.last(panels * c.kern.PanelA(words)) // rows beyond m are there, but make no difference
	if c.kern.Sum == F64 {
		fillWords(a, panels*c.kern.PanelA(words), 1)
	} else {
		as := unsafe.Slice((*uint32)(a), panels*words*c.kern.MR)
		clear(as)
		for kd := range (c.k + c.kern.KPack - 1) / c.kern.KPack {
			for i := range panels * c.kern.MR {
				w := word(r, c.kern.KPack)
				if kd*c.kern.KPack+1 == c.k && c.kern.KPack == 2 {
					w &= 0xffff
				}
				as[i/c.kern.MR*words*c.kern.MR+wordA(c.kern, kd, i%c.kern.MR)] = w
			}
		}
	}
	stride := (length + r.IntN(9)) * size
	if c.pages {
		stride = (length*size + 4095) &^ 4095
	}
	ldd, row := (c.n+r.IntN(9))*c.kern.Word, c.n*c.kern.Word
	span, spanC := (lines-1)*stride+length*size, (c.m-1)*ldd+row
	for _, atEnd := range []bool{true, false} {
		b, dst, want := mem.b.first(span), mem.dst.first(spanC), mem.want.first(spanC)
		if atEnd {
			b, dst, want = mem.b.last(span), mem.dst.last(spanC), mem.want.last(spanC)
		}
		fill(b, span)
		fill(dst, spanC)
		got, wanted := unsafe.Slice((*byte)(dst), spanC), unsafe.Slice((*byte)(want), spanC)
		copy(wanted, got)
		streamGeneric(c.kern, mul, c.typ, c.kContiguous)(c.k, c.m, c.n, a, b, stride, want, ldd, c.add)
		c.kern.Stream(c.typ, c.kContiguous)(c.k, c.m, c.n, a, b, stride, dst, ldd, c.add)
		if at, x, y := mismatchC(c.kern, got, wanted, 0, spanC, ldd, row); at >= 0 {
			return fmt.Errorf("k=%d m=%d n=%d add=%v stride=%d atEnd=%v: row %d column %d is %#x, want %#x",
				c.k, c.m, c.n, c.add, stride, atEnd, at/ldd, at%ldd/c.kern.Word, x, y)
		}
	}
	return nil
}

// TestStream compares small shapes with Mul on packed panels, bit by bit, with all kinds of operands.
func TestStream(t *testing.T) {
	const maxK, maxN = 70, 64
	forStreams(t, func(t *testing.T, kern *Kernel, typ Type, kContiguous bool) {
		mem := newStreamMemory(t, kern, typ, maxK, maxN)
		r := rand.New(rand.NewPCG(7, uint64(typ)))
		turn := 0
		for k := 1; k <= maxK; k++ {
			for m := 1; m <= kern.StreamRows(typ, kContiguous); m++ {
				for n := 1; n <= maxN; n++ {
					turn++
					if few := raceEnabled || testing.Short(); few && turn%53 != 0 || turn%7 != 0 && k > 6 && n > 6 {
						continue
					}
					if kern.step == amxStep && turn%11 != 0 {
						continue // its twin is slow, and has four times the rows
					}
					if kern.Sum == F64 && turn%3 != 0 {
						continue // it is as float32, but for the size of words
					}
					c := streamCase{kern, typ, kContiguous, k, m, n, r.IntN(2) == 0, false}
					if err := c.check(mem, r, operands[r.IntN(len(operands))].word, kern.Mul); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// TestStreamTwin compares a few shapes with the plain-Go kernel.
func TestStreamTwin(t *testing.T) {
	forStreams(t, func(t *testing.T, kern *Kernel, typ Type, kContiguous bool) {
		mem := newStreamMemory(t, kern, typ, 90, 140)
		r := rand.New(rand.NewPCG(8, uint64(typ)))
		for _, o := range operands {
			for m := 1; m <= kern.StreamRows(typ, kContiguous); m++ {
				c := streamCase{kern, typ, kContiguous, 1 + r.IntN(90), m, 1 + r.IntN(140), m%3 == 1, false}
				if err := c.check(mem, r, o.word, kern.Ref); err != nil {
					t.Fatalf("%s: %v", o.name, err)
				}
			}
		}
	})
}

// TestStreamLong crosses every bound on a call of assembly, and has groups of columns follow one another.
func TestStreamLong(t *testing.T) {
	forStreams(t, func(t *testing.T, kern *Kernel, typ Type, kContiguous bool) {
		// k, n
		shapes := [][2]int{{1, 300}, {17, 1000}, {700, 33}, {1100, 16}, {1100, 17}, {1120, 70}, {1151, 81}, {2083, 130}}
		if kContiguous {
			shapes = append(shapes, [2]int{streamTestLength/typ.Size() + 75, 50},
				[2]int{2 * streamTestLength / typ.Size(), 3},
				// A block of sums and lines of another.
				[2]int{typ.Block() * 5 / 4, 70}, [2]int{typ.Block() * 7 / 4, 130})
		} else {
			shapes = append(shapes, [2]int{37, streamTestWidth + 75}, [2]int{streamTestDepth + 39, 20})
		}
		r := rand.New(rand.NewPCG(9, uint64(typ)))
		for _, shape := range shapes {
			mem := newStreamMemory(t, kern, typ, shape[0], shape[1])
			for m := 1; m <= kern.StreamRows(typ, kContiguous); m++ {
				if few := raceEnabled || kern.step == amxStep; few && m != 3 && m != kern.StreamRows(typ, kContiguous) {
					continue
				}
				c := streamCase{kern, typ, kContiguous, shape[0], m, shape[1], m%3 == 1, false}
				if err := c.check(mem, r, operands[m%len(operands)].word, kern.Mul); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestStreamPages has the rows of B lie whole pages apart, which makes a difference to what is prefetched.
func TestStreamPages(t *testing.T) {
	forStreams(t, func(t *testing.T, kern *Kernel, typ Type, kContiguous bool) {
		k, n := 37, 2040
		if kContiguous {
			k, n = n, k
		}
		mem := newStreamMemory(t, kern, typ, k, n)
		r := rand.New(rand.NewPCG(11, uint64(typ)))
		for m := 1; m <= 2; m++ {
			c := streamCase{kern, typ, kContiguous, k, m, n, m%3 == 1, true}
			if err := c.check(mem, r, operands[0].word, kern.Mul); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What bounds a call of assembly, in bytes, columns and rows of K; see streamLength, streamWidth and thinRows.
const streamTestLength, streamTestWidth, streamTestDepth = 32 << 10, 16 << 10, 4 << 10

// TestStreamAllocs checks that the working memory is used again.
func TestStreamAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector a sync.Pool forgets")
	}
	forStreams(t, func(t *testing.T, kern *Kernel, typ Type, kContiguous bool) {
		const k, n = 100, 100
		a, b, c := aligned(kern.PanelA(kern.Words(typ, k))), aligned(k*n*kern.Word), aligned(n*kern.Word)
		f := kern.Stream(typ, kContiguous)
		call := func() { f(k, 1, n, a, b, n*typ.Size(), c, n*kern.Word, false) }
		if allocs := testing.AllocsPerRun(100, call); allocs >= 1 {
			t.Errorf("%v allocations a call", allocs)
		}
	})
}
