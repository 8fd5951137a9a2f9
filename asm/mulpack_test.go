package asm

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestPackDepth checks which kernels pack behind their products, which types, and how deep.
func TestPackDepth(t *testing.T) {
	packs := map[string][]Type{"avx512bf16": {BF16}, "avx512": {BF16, F16, F32}, "avx2": {BF16, F16, F32},
		"avx512f64": {F64}, "avx2f64": {F64}}
	for _, kern := range Kernels() {
		for typ := range Type(numTypes + 2) {
			across, along := 0, 0
			if assembled && slices.Contains(packs[kern.Name], typ) {
				across = kern.KPack
				switch {
				case typ == F64 && kern.Name == "avx512f64":
					along = 8
				case typ != F64 && kern.Name != "avx2":
					along = 16 * kern.KPack
				}
			}
			if got := kern.PackDepth(typ, false); got != across {
				t.Errorf("%s packs %v behind its products in multiples of %d, want %d", kern.Name, typ, got, across)
			}
			if got := kern.PackDepth(typ, true); got != along {
				t.Errorf("%s transposes %v behind its products in multiples of %d, want %d", kern.Name, typ, got,
					along)
			}
		}
	}
}

// The largest number of words and tiles, and of words of K that are packed, in [TestMulPack].
const packMaxWords, packMaxM, packMaxK = 71, 3, 120

// packMaxStride is the largest distance between the rows of B.
const packMaxStride = 4096 + 8

// packStrides returns distances in bytes between the rows of B: one after the other, a few elements apart, and about
// a page.
func packStrides(kern *Kernel, typ Type) []int {
	row, size := kern.NR*typ.Size(), typ.Size()
	return []int{row, row + size, row + 3*size, row + 31*size, 2 * row, 1024, 1024 + size, 4096, 4096 + size}
}

// A packMemory is guarded memory for the operands of a [mulPackCase].
type packMemory struct {
	strip
	rows, panel, next guarded
}

// newPackMemory returns memory for the largest case of kern.
func newPackMemory(t *testing.T, kern *Kernel) packMemory {
	c := packMaxM*kern.MR*(kern.NR*kern.Word+76) + canary
	return packMemory{
		strip{newGuarded(t, packMaxM*kern.PanelA(packMaxWords)), newGuarded(t, kern.PanelB(packMaxWords)),
			newGuarded(t, c), newGuarded(t, c)},
		newGuarded(t, packMaxK*kern.KPack*packMaxStride), newGuarded(t, kern.PanelB(packMaxK)+2*canary),
		newGuarded(t, aheadBytes),
	}
}

// aheadBytes is the size of the memory that [nextPanels] point into, a multiple of every page.
const aheadBytes = 64 << 10

// lowestPointer is the lowest address that the runtime takes for a pointer, and is never mapped.
const lowestPointer = 4096

// nextPanels returns what is brought closer, in one of nextKinds ways, in mem, which holds aheadBytes, and far from
// it: a prefetch never faults, so that nothing but time may depend on where it points.
func nextPanels(mem guarded, dst unsafe.Pointer, kind int) (next unsafe.Pointer, pitch int) {
	first, lowest := mem.first(aheadBytes), unsafe.Add(unsafe.Pointer(nil), lowestPointer)
	switch kind {
	case 0:
		return nil, 0
	case 1:
		return first, 256
	case 2:
		return unsafe.Add(first, 1), 129
	case 3:
		return mem.last(aheadBytes), -8192
	case 4:
		return mem.last(1), 1
	// in the page after mem that faults on any access or, where there are no such pages, after what is asked of mem
	case 5:
		return unsafe.Add(first, aheadBytes+64), 100
	case 6:
		return lowest, 1 << 20
	case 7:
		return lowest, -1 << 12
	case 8:
		return lowest, 1 << (bits.UintSize - 4) // no addresses at all
	}
	return dst, 128
}

const nextKinds = 10

// A mulPackCase is one call of MulPack.
type mulPackCase struct {
	kern     *Kernel
	typ      Type
	words, m int
	k        int  // of the panel that is packed
	along    bool // its columns lie along K
	stride   int
	source   int  // see sources
	next     int  // which of [nextPanels] is brought closer
	atEnd    bool // all operands lie at the end of their memory, otherwise at its start
}

// A packFunc is MulPack of one kernel and type.
type packFunc func(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing)

// check compares MulPack with twins: the tiles and the panel, what lies beside them, and that no operand changes.
func (c mulPackCase) check(
	mem packMemory, r *rand.Rand, word func(r *rand.Rand, kpack int) uint32, twins ...packFunc,
) error {
	kern, row := c.kern, c.kern.NR*c.typ.Size()
	place := func(g guarded, n int) unsafe.Pointer {
		p, _ := g.place(n, c.atEnd)
		return p
	}
	fill := filler(kern, r, word)
	lds, ldd := pitches(r, kern, c.source)
	spanC := func(pitch int) int { return (c.m*kern.MR-1)*pitch + kern.NR*kern.Word }
	lines := c.k
	if c.along {
		lines, row = kern.NR, c.k*c.typ.Size()
	}
	spanPanel, spanRows := kern.PanelB(c.k/kern.KPack), 0
	if c.k > 0 {
		spanRows = (lines-1)*c.stride + row
	}
	spanA := c.m * kern.PanelA(c.words)
	a, b, dst := place(mem.a, spanA), place(mem.b, kern.PanelB(c.words)), place(mem.dst, spanC(ldd))
	rows, panel := place(mem.rows, spanRows), place(mem.panel, spanPanel)
	if shift := kern.Word * r.IntN(2); c.atEnd { // half of the panels are not aligned
		panel = unsafe.Add(panel, -shift)
	} else {
		panel = unsafe.Add(panel, shift)
	}
	fill(a, spanA, kern.KPack)
	fill(b, kern.PanelB(c.words), kern.KPack)
	for i := range lines {
		fill(unsafe.Add(rows, i*c.stride), row, 4/c.typ.Size())
	}
	fill(place(mem.src, spanC(lds)), spanC(lds), 1)
	fill(unsafe.Pointer(unsafe.SliceData(mem.dst.mem)), len(mem.dst.mem), 1)
	for i := range mem.panel.mem {
		mem.panel.mem[i] = 0x5a
	}
	seed := maphash.MakeSeed()
	read := func() (sums [4]uint64) { // of what is only read
		for i, mem := range [][]byte{mem.a.mem, mem.b.mem, mem.src.mem, unsafe.Slice((*byte)(rows), spanRows)} {
			sums[i] = maphash.Bytes(seed, mem)
		}
		return sums
	}
	kept := read()
	panelBefore, dstBefore := bytes.Clone(mem.panel.mem), bytes.Clone(mem.dst.mem)
	pack := Packing{B: rows, Stride: c.stride, KContiguous: c.along, K: c.k, Panel: panel}
	pack.Next, pack.Pitch = nextPanels(mem.next, dst, c.next)
	before := pack
	run := func(f packFunc) (panelAfter, dstAfter []byte) {
		copy(mem.panel.mem, panelBefore)
		copy(mem.dst.mem, dstBefore)
		src := []unsafe.Pointer{nil, dst, place(mem.src, spanC(lds)), dst, place(mem.src, spanC(lds)),
			place(mem.src, spanC(lds))}[c.source]
		f(c.words, c.m, a, b, src, signed(lds, c.source), dst, ldd, &pack)
		return bytes.Clone(mem.panel.mem), bytes.Clone(mem.dst.mem)
	}
	report := func(format string, args ...any) error {
		return fmt.Errorf("%+v lds=%d ldd=%d: %s", c, lds, ldd, fmt.Sprintf(format, args...))
	}

	gotPanel, gotDst := run(func(
		words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing,
	) {
		kern.MulPack(c.typ, words, m, a, b, src, lds, dst, ldd, pack)
	})
	if read() != kept || pack != before {
		return report("an operand that is only read was written")
	}
	for _, twin := range twins {
		wantPanel, wantDst := run(twin)
		if at := mismatch(gotPanel, wantPanel); at >= 0 {
			from := int(uintptr(panel) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.panel.mem))))
			return report("byte %d of the panel of %d is %#x, want %#x", at-from, spanPanel, gotPanel[at],
				wantPanel[at])
		}
		from := int(uintptr(dst) - uintptr(unsafe.Pointer(unsafe.SliceData(mem.dst.mem))))
		if at, got, want := mismatchC(kern, gotDst, wantDst, from, spanC(ldd), ldd, kern.NR*kern.Word); at >= 0 {
			return report("byte %d of dst is %#x, want %#x", at-from, got, want)
		}
	}
	return nil
}

// TestMulPack compares the kernels that pack behind their products with multiplying and packing, one after the other,
// for all kinds of operands, for panels that are packed long before the tiles end and for such as are not.
func TestMulPack(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			for _, along := range []bool{false, true} {
				if kern.PackDepth(typ, along) > 0 {
					testMulPack(t, kern, typ, along)
				}
			}
		}
	})
}

func testMulPack(t *testing.T, kern *Kernel, typ Type, along bool) {
	mem := newPackMemory(t, kern)
	r := rand.New(rand.NewPCG(47, uint64(typ)))
	twin := func(mul KernelFunc) packFunc {
		return func(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) {
			mulPackGeneric(kern, mul, typ, words, m, a, b, src, lds, dst, ldd, pack)
		}
	}
	strides, depth := packStrides(kern, typ), kern.PackDepth(typ, along)
	turn := 0
	for words := range packMaxWords + 1 {
		for m := 1; m <= packMaxM; m++ {
			for k := 0; k <= packMaxK; k += 1 + k/9 {
				turn++
				if (raceEnabled || testing.Short()) && turn%13 != 0 {
					continue
				}
				twins := []packFunc{twin(kern.Mul), twin(kern.Ref)}
				if turn%8 != 0 {
					twins = twins[:1]
				}
				c := mulPackCase{
					kern: kern, typ: typ, words: words, m: m, k: k * kern.KPack, along: along,
					source: r.IntN(sources(kern)), next: r.IntN(nextKinds), atEnd: r.IntN(2) == 0,
				}
				if along {
					if k%5 > 0 {
						c.k = k * kern.KPack / depth * depth // otherwise most are not behind products
					}
					c.stride = c.k*typ.Size() + []int{0, 1, 3, 31, 64}[r.IntN(5)]*typ.Size()
					if r.IntN(3) == 0 {
						c.stride = 4096 + r.IntN(2)*typ.Size()
					}
				} else {
					c.stride = strides[r.IntN(len(strides))]
				}
				err := c.check(mem, r, anyOperands(r), twins...)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestMulPackElsewhere checks that MulPack of a kernel that cannot do both at once multiplies, and then packs.
func TestMulPackElsewhere(t *testing.T) {
	for _, kern := range Kernels() {
		if kern.Supported() != nil || kern.Arithmetic != Native || kern.PackDepth(BF16, false) > 0 ||
			!kern.Accepts(BF16) {
			continue
		}
		words := kern.KStep(BF16)
		n := words * kern.KPack
		mem := newPackMemory(t, kern)
		c := mulPackCase{kern: kern, typ: BF16, words: words, m: 2, k: n, stride: kern.NR * 2, atEnd: true}
		err := c.check(mem, rand.New(rand.NewPCG(53, 1)),
			anyWord, func(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack *Packing) {
				kern.Ref(words, m, a, b, src, lds, dst, ldd)
				packGeneric(BF16, kern.KPack, kern.NR, false, pack.Panel, pack.B, pack.Stride, kern.NR, pack.K)
			})
		if err != nil {
			t.Errorf("%s: %v", kern.Name, err)
		}
	}
}

// TestMulPackAllocs checks that a Packing may stay on its caller's stack.
func TestMulPackAllocs(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		if kern.PackDepth(BF16, false) == 0 {
			t.Skip("it does not pack behind its products")
		}
		const words, m = 64, 2
		k := words * kern.KPack
		a, b, c := aligned(m*kern.PanelA(words)), aligned(kern.PanelB(words)), aligned(m*kern.MR*kern.NR*4)
		rows, panel := aligned(k*kern.NR*4), aligned(kern.PanelB(words))
		allocs := testing.AllocsPerRun(20, func() {
			pack := Packing{B: rows, Stride: kern.NR * 2, K: k, Panel: panel, Next: rows, Pitch: 64}
			kern.MulPack(BF16, words, m, a, b, nil, 0, c, kern.NR*4, &pack)
		})
		if allocs != 0 {
			t.Errorf("%v allocations a call, want none", allocs)
		}
	})
}
