package wgmma

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// fills make bytes of operands: of moderate exponents, of any exponent, with a few
// infinities and NaNs among moderate ones, and with zeros and subnormals.
var fills = []func(r *rand.Rand, memory []byte, size int){
	func(r *rand.Rand, memory []byte, size int) { fillAround(r, memory, size) },
	func(r *rand.Rand, memory []byte, size int) {
		for i := range memory {
			memory[i] = byte(r.Uint32())
		}
	},
	func(r *rand.Rand, memory []byte, size int) {
		fillAround(r, memory, size)
		for range 3 {
			at := r.IntN(len(memory)/size)*size + size - 1
			memory[at] |= 0x7f
			memory[at-size/2] |= 0x80
		}
	},
	func(r *rand.Rand, memory []byte, size int) {
		fillAround(r, memory, size)
		for i := 0; i < len(memory); i += size {
			if r.IntN(3) == 0 {
				memory[i+size-1] &= 0x80
				memory[i+size/2] &= byte(r.Uint32() & 0x83)
			}
		}
	},
}

// fillAround makes elements with exponents near that of 1.
func fillAround(r *rand.Rand, memory []byte, size int) {
	for i := range memory {
		memory[i] = byte(r.Uint32())
		switch {
		case size == 1:
			memory[i] = memory[i]&0x9f | 0x20
		case i%size == size-1:
			memory[i] = memory[i]&0x81 | 0x3e
		}
	}
}

// A program issues instructions on two accumulators to a warpgroup, and the same to
// its twin, which executes each alone and in plain Go.
type program struct {
	r         *rand.Rand
	w, twin   *Warpgroup
	d, dTwin  [2]*Accumulator
	a, aTwin  *Fragment
	memory    int
	op        Op
	size      int
	transpose bool
}

func newProgram(t *testing.T, r *rand.Rand, op Op) *program {
	t.Helper()
	p := &program{r: r, op: op, size: op.Kind.ElementSize(), memory: 48 << 10}
	shared, err := tile.NewShared(p.memory)
	if err != nil {
		t.Fatal(err)
	}
	fills[r.IntN(len(fills))](r, shared.Bytes(), p.size)
	var opts []Option
	if r.IntN(4) == 0 {
		opts = append(opts, Checked())
	}
	p.w, p.twin = NewWarpgroup(shared, opts...), NewWarpgroup(shared)
	p.twin.plain = true
	p.a, p.aTwin = NewFragment(op.Kind), NewFragment(op.Kind)
	for i := range Threads {
		for j := range 4 {
			p.a.SetRegister(i, j, r.Uint32()&0xbfffbfff)
			p.aTwin.SetRegister(i, j, p.a.Register(i, j))
		}
	}
	moderate := r.IntN(3) > 0 // without NaNs and what is out of a kernel's range
	for n := range p.d {
		p.d[n] = newAccumulator(t, op.Kind.AccumulatorType(), op.N)
		p.dTwin[n] = newAccumulator(t, op.Kind.AccumulatorType(), op.N)
		for i := range M {
			for j := range op.N {
				u := r.Uint32()
				switch typ := op.Kind.AccumulatorType(); {
				case typ == S32 && r.IntN(2) == 0:
					u = math.MaxInt32 + u>>16 - 1<<15 // near a limit, if sums may saturate
				case typ == F32 && (moderate || r.IntN(50) > 0):
					u = u&0x80ffffff | 0x3f000000
				case typ == F16 && (moderate || r.IntN(50) > 0):
					u &= 0xbfff
				}
				p.d[n].SetBits(i, j, u)
				p.dTwin[n].SetBits(i, j, u)
			}
		}
	}
	return p
}

// metadata returns some for elements of size bytes.
func metadata(r *rand.Rand, size int) *Metadata {
	m := new(Metadata)
	for thread := range m {
		for i := range metadataFields {
			first := r.Uint32N(4)
			field := first | (first+1+r.Uint32N(3))%4<<2
			if size == 4 {
				field = []uint32{hopper.FirstOfTwo, hopper.SecondOfTwo}[r.IntN(2)]
			}
			m[thread] |= field << (hopper.MetadataBits * i)
		}
	}
	return m
}

// descriptor returns one of an operand somewhere in shared memory, swizzled or not.
func (p *program) descriptor(major Major, rows, depth int) Descriptor {
	for {
		d := Descriptor{
			Start:      p.r.IntN(p.memory/16) * 16,
			LBO:        p.r.IntN(128) * 16,
			SBO:        p.r.IntN(128) * 16,
			BaseOffset: p.r.IntN(8) * p.r.IntN(2),
			Swizzle:    tile.Swizzle(p.r.IntN(4)),
		}
		if d.checkBounds(major, p.size, rows, depth, p.memory) == nil {
			return d
		}
	}
}

// step issues an instruction, mostly the same as the one before and further in K.
func (p *program) step(t *testing.T) {
	t.Helper()
	r, op := p.r, p.op
	if !op.Kind.Integer() {
		op.NegateA, op.NegateB = r.IntN(6) == 0, r.IntN(6) == 0
	} else if op.Kind != B1S32 && r.IntN(4) == 0 {
		p.op.Saturate = !op.Saturate
	}
	if p.size == 2 && r.IntN(4) == 0 {
		p.transpose = !p.transpose
	}
	op.Overwrite = r.IntN(8) == 0
	op.TransposeA, op.TransposeB = p.transpose && r.IntN(8) > 0, p.transpose
	var a, aTwin Operand = p.a, p.aTwin
	if op.TransposeA || r.IntN(4) > 0 {
		a = p.descriptor(Major(op.TransposeA), M, RowBytes)
		aTwin = a
	}
	b := p.descriptor(Major(op.TransposeB), op.N, op.ColumnBytes())
	which := 0
	if r.IntN(3) == 0 {
		which = 1
	}
	issue := func(w *Warpgroup, d *Accumulator, a Operand) error { return w.MMA(op, d, a, b) }
	if op.Sparse {
		meta := metadata(r, p.size)
		issue = func(w *Warpgroup, d *Accumulator, a Operand) error { return w.MMASparse(op, d, a, b, meta, 0) }
	}
	if err := issue(p.w, p.d[which], a); err != nil {
		t.Fatal(err)
	}
	if err := issue(p.twin, p.dTwin[which], aTwin); err != nil {
		t.Fatal(err)
	}
	p.twin.CommitGroup()
	if err := p.twin.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
}

// compare waits for everything.
func (p *program) compare(t *testing.T) {
	t.Helper()
	p.w.CommitGroup()
	if err := p.w.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
	for n := range p.d {
		if p.d[n].pending != 0 || p.a.r.pending != 0 {
			t.Fatalf("%v: %d and %d instructions are pending", p.op, p.d[n].pending, p.a.r.pending)
		}
		for i := range M {
			for j := range p.op.N {
				if got, want := p.d[n].Bits(i, j), p.dTwin[n].Bits(i, j); got != want {
					t.Fatalf("%v: D(%d, %d) of accumulator %d is %#x, one after the other gives %#x", p.op, i, j, n,
						got, want)
				}
			}
		}
	}
	p.w.Fence()
}

// run compares instructions with their twins, in two waits for all.
func (p *program) run(t *testing.T) {
	t.Helper()
	p.w.Fence()
	for range 2 {
		for range 2 + p.r.IntN(10) {
			p.step(t)
			if p.r.IntN(4) == 0 {
				p.w.CommitGroup()
				if err := p.w.WaitGroup(p.r.IntN(4)); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.compare(t)
	}
}

// Instructions that run together, as chains and in assembly where there is some, give
// the bits of one after the other in plain Go: every kind and N, all operands,
// layouts, modifiers and orders.
func TestChainTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for kind := range Kind(len(kinds)) {
		for n := 8; n <= maxN; n += 8 {
			op := Op{Kind: kind, N: n}
			if op.Validate() != nil || (testing.Short() || raceEnabled) && n != 16 && n != 64 && n != 80 {
				continue
			}
			newProgram(t, r, op).run(t)
			if op.Sparse = n == 16 || n == 80 && !raceEnabled; op.Sparse && op.Validate() == nil {
				newProgram(t, r, op).run(t)
			}
		}
	}
}

// The same with every kernel that there is assembly for here, not only the best.
func TestKernelTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	defer func(best [len(kinds)]*asm.Kernel) { kernels = best }(kernels)
	for _, k := range asm.Kernels() {
		if err := k.Supported(); err != nil {
			t.Logf("NOT TESTED: %s: %v", k.Name, err)
			continue
		}
		if k.ISA == "Go" {
			continue // not used here
		}
		for kind := range Kind(len(kinds)) {
			kernels[kind] = nil
			if typ, _ := kind.kernelTypes(); k.Accepts(typ) && (k.Arithmetic == asm.Native) == kind.Integer() &&
				kind != B1S32 {
				kernels[kind] = k
			}
		}
		for kind := range Kind(len(kinds)) {
			for _, n := range []int{8, 64, 176} {
				if kernels[kind] != nil && (n == 64 || !raceEnabled && !testing.Short()) {
					newProgram(t, r, Op{Kind: kind, N: n}).run(t)
					if !raceEnabled {
						newProgram(t, r, Op{Kind: kind, N: 16, Sparse: true}).run(t)
					}
				}
			}
		}
	}
}

// Sums of integers are exact for as long as a chain may be, and beyond.
func TestLongIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := newWorkbench(t)
	a, b := w.fill(1, 16, func() uint32 { return 255 - r.Uint32N(2) })
	wg, d := NewWarpgroup(w.shared), newAccumulator(t, S32, 16)
	op := Op{Kind: U8S32, N: 16}
	const steps = maxChain + 5
	for range steps {
		if err := wg.MMA(op, d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
	}
	wg.CommitGroup()
	if err := wg.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
	for i := range a {
		x := decode(op, a[i][:], false)
		for j := range b {
			sum := uint32(0)
			for range steps {
				sum = want(op, sum, x, decode(op, b[j][:], true))
			}
			if got := d.Bits(i, j); got != sum {
				t.Fatalf("D(%d, %d) = %d, want %d", i, j, got, sum)
			}
		}
	}
}

// A chain is what follows on one accumulator until something other is to be done.
func TestChains(t *testing.T) {
	w := newWorkbench(t)
	w.fill(2, 8, func() uint32 { return 0x3f80 })
	d, e := newAccumulator(t, F32, 8), newAccumulator(t, F32, 8)
	op, over := Op{N: 8}, Op{N: 8, Overwrite: true}
	wg := NewWarpgroup(w.shared)
	wg.Fence()
	for _, in := range []struct {
		op Op
		d  *Accumulator
	}{{op, d}, {op, e}, {op, d}, {over, d}, {op, d}, {op, e}, {Op{N: 8, NegateA: true}, e}, {op, d}} {
		if err := wg.MMA(in.op, in.d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
	}
	queue := wg.issued
	var got []int
	for i := range queue {
		if !queue[i].done {
			got = append(got, len(wg.chainFrom(queue[i:])))
		}
	}
	if want := []int{2, 2, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("chains of %v instructions, want %v", got, want)
	}
}

// Memory is reused: a loop allocates nothing, with A in shared memory or in registers.
func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newWorkbench(t)
	clear(w.shared.Bytes())
	for kind := range Kind(len(kinds)) {
		wg, d, f := NewWarpgroup(w.shared), newAccumulator(t, kind.AccumulatorType(), 16), NewFragment(kind)
		meta := metadata(rand.New(rand.NewPCG(7, 8)), kind.ElementSize())
		step := func() {
			wg.Fence()
			for range 2 {
				if err := wg.MMA(Op{Kind: kind, N: 16}, d, w.a, w.b); err != nil {
					t.Fatal(err)
				}
				if err := wg.MMA(Op{Kind: kind, N: 16}, d, f, w.b); err != nil {
					t.Fatal(err)
				}
				if kind != B1S32 {
					if err := wg.MMASparse(Op{Kind: kind, N: 16}, d, w.a, KMajor(0, tile.Swizzle64B), meta, 0); err != nil {
						t.Fatal(err)
					}
				}
				wg.CommitGroup()
			}
			if err := wg.WaitGroup(1); err != nil {
				t.Fatal(err)
			}
		}
		step()
		step()
		if n := testing.AllocsPerRun(10, step); n > 0 {
			t.Errorf("%v: %v allocations in a turn", kind, n)
		}
	}
}
