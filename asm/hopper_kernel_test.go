package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tf32"
)

var hopperFormats = [numTypes]hopper.Format{BF16: hopper.BF16, F16: hopper.F16, F32: hopper.TF32, E4M3: hopper.E4M3,
	E5M2: hopper.E5M2}

// hopperSpec returns the rule of internal/hopper for the types of A and B.
func hopperSpec(a, b Type) hopper.Spec {
	s := hopper.Spec{A: hopperFormats[a], B: hopperFormats[b], Acc: hopper.F32, L: 32 / a.Size(), F: 25, Frac: 23}
	if a.Size() == 1 {
		s.F, s.Frac = 13, 13
	}
	return s
}

// hopperMatrix is rows of k elements, contiguous.
type hopperMatrix struct {
	typ     Type
	rows, k int
	bytes   []byte
}

func newHopperMatrix(r *rand.Rand, typ Type, rows, k int, o hopperElements) hopperMatrix {
	n := rows * k * typ.Size()
	m := hopperMatrix{typ, rows, k, unsafe.Slice((*byte)(aligned(n)), n)}
	o.fill(r, typ, unsafe.Pointer(&m.bytes[0]), n)
	return m
}

// at returns the bits of an element.
func (m hopperMatrix) at(i, kk int) uint32 {
	p := unsafe.Pointer(&m.bytes[(i*m.k+kk)*m.typ.Size()])
	switch m.typ.Size() {
	case 1:
		return uint32(*(*uint8)(p))
	case 2:
		return uint32(*(*uint16)(p))
	}
	return *(*uint32)(p)
}

// words decodes a row, padded to whole steps. Packing rounds float32 to tf32.
func (m hopperMatrix) words(i int) []hopper.Word {
	w := make([]hopper.Word, roundUp(m.k, 32/m.typ.Size()))
	for kk := range w {
		u := uint32(0)
		if kk < m.k {
			u = m.at(i, kk)
		}
		if m.typ == F32 {
			u = tf32.RoundBits(u)
		}
		w[kk] = hopperFormats[m.typ].Decode(u)
	}
	return w
}

// product returns c + a·bᵀ by the rule.
func product(a, b hopperMatrix, c []float32) []float32 {
	spec := hopperSpec(a.typ, b.typ)
	out := append([]float32(nil), c...)
	columns := make([][]hopper.Word, b.rows)
	for j := range columns {
		columns[j] = b.words(j)
	}
	for i := range a.rows {
		x := a.words(i)
		for j, y := range columns {
			acc := math.Float32bits(out[i*b.rows+j])
			for k := 0; k < len(x); k += spec.L {
				acc = spec.Step(acc, x[k:k+spec.L], y[k:k+spec.L])
			}
			out[i*b.rows+j] = math.Float32frombits(acc)
		}
	}
	return out
}

// hopperAccumulators are kinds of accumulators to start from.
var hopperAccumulators = []struct {
	name string
	bits func(r *rand.Rand) uint32
}{
	{"zero", func(r *rand.Rand) uint32 { return r.Uint32() & (1 << 31) }},
	{"near1", func(r *rand.Rand) uint32 { return r.Uint32()&0x81ffffff | 0x3e000000 }},
	// of the exponent of products of "largest"
	{"full", func(r *rand.Rand) uint32 { return 0x3fffffff | r.Uint32()&(1<<31) }},
	{"odd", func(r *rand.Rand) uint32 { return 0x3effffff | r.Uint32()&(1<<31) }}, // and 2^24 - 1 units of theirs
	{"finite", func(r *rand.Rand) uint32 { return r.Uint32() & 0xbfffffff }},
	{"any", func(r *rand.Rand) uint32 { return r.Uint32() }},
	{"tiny", func(r *rand.Rand) uint32 { return r.Uint32()&0x807fffff | uint32(r.IntN(40))<<23 }},
	{"large", func(r *rand.Rand) uint32 { return r.Uint32()&0x807fffff | uint32(240+r.IntN(15))<<23 }},
	{"rarely special", func(r *rand.Rand) uint32 {
		if r.IntN(100) == 0 {
			return []uint32{0x7f800000, 0xff800000, 0x7fc00000, 1, 0x80000001}[r.IntN(5)]
		}
		return r.Uint32()&0x81ffffff | 0x3e000000
	}},
}

// hopperTypes are the types that Hopper's arithmetic has: all before this one.
const hopperTypes = F64

// TestHopperMul compares Mul, and the kernels for all operands whether they are needed or not, with Ref at the end of
// guarded memory: strips, pitches, and places where the tiles start.
func TestHopperMul(t *testing.T) {
	const maxK, maxM = 96, 5
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		maxPitch := k.NR*4 + 76
		s := strip{newGuarded(t, maxM*k.PanelA(maxK)), newGuarded(t, k.PanelB(maxK)), newGuarded(t, maxM*k.MR*maxPitch),
			newGuarded(t, maxM*k.MR*maxPitch)}
		r := rand.New(rand.NewPCG(23, 24))
		rounds := 60
		if raceEnabled || testing.Short() {
			rounds = 8
		}
		for typ := range hopperTypes {
			for oi, o := range hopperOperands {
				for round := range rounds {
					depth := r.IntN(maxK/k.KStep(typ)+1) * k.KStep(typ)
					m := 1 + r.IntN(maxM)
					pa, pb := s.a.last(m*k.PanelA(depth)), s.b.last(k.PanelB(depth))
					if depth > 0 {
						a, b := newHopperMatrix(r, typ, m*k.MR, depth, hopperOperands[0]),
							newHopperMatrix(r, typ, k.NR, depth, o)
						if oi%2 == 0 {
							o.fill(r, typ, unsafe.Pointer(&a.bytes[0]), len(a.bytes))
						}
						k.PackA(typ, true)(pa, unsafe.Pointer(&a.bytes[0]), depth*typ.Size(), m*k.MR, depth)
						k.PackB(typ, true)(pb, unsafe.Pointer(&b.bytes[0]), depth*typ.Size(), k.NR, depth)
					}
					acc := hopperAccumulators[round%len(hopperAccumulators)]
					mul, mulF16 := k.Mul, k.MulF16
					if round%2 == 1 {
						mul, mulF16 = wideOf(k)
					}
					if err := hopperMulCase(k, mul, k.Ref, s, r, acc.bits, depth, m, r.IntN(3), pa, pb); err != nil {
						t.Fatalf("%v %s, C %s, k=%d m=%d: %v", typ, o.name, acc.name, depth, m, err)
					}
					if typ == BF16 || typ == F32 {
						continue
					}
					half := f16Accumulators[round%len(f16Accumulators)]
					word := func(r *rand.Rand) uint32 { return widenF16(half.bits(r)) }
					if err := hopperMulCase(k, mulF16, k.RefF16, s, r, word, depth, m, 2*r.IntN(2), pa,
						pb); err != nil {
						t.Fatalf("%v %s, C in f16 %s, k=%d m=%d: %v", typ, o.name, half.name, depth, m, err)
					}
				}
			}
		}
	})
}

// hopperMulCase compares a function of k with its twin; source is as in conform.
func hopperMulCase(
	k *Kernel, mul, ref KernelFunc, s strip, r *rand.Rand, word func(*rand.Rand) uint32, depth, m, source int, pa,
	pb unsafe.Pointer,
) error {
	lds, ldd := pitches(r, k, source)
	span := func(pitch int) int { return (m*k.MR-1)*pitch + k.NR*4 }
	fill := func(p unsafe.Pointer, n int) []uint32 {
		ws := unsafe.Slice((*uint32)(p), n)
		for i := range ws {
			ws[i] = word(r)
		}
		return ws
	}
	dst := s.dst.last(span(ldd))
	before := append([]uint32(nil), fill(dst, span(ldd)/4)...)
	var src unsafe.Pointer
	switch source {
	case 1:
		src = dst
	case 2:
		src = s.src.last(span(lds))
		fill(src, span(lds)/4)
	}
	run := func(mul KernelFunc) []uint32 {
		got := unsafe.Slice((*uint32)(dst), span(ldd)/4)
		copy(got, before)
		mul(depth, m, pa, pb, src, lds, dst, ldd)
		return append([]uint32(nil), got...)
	}
	want, got := run(ref), run(mul)
	for i := range got {
		if inTile := i*4%ldd < k.NR*4; got[i] != want[i] || !inTile && got[i] != before[i] {
			return fmt.Errorf("source=%d lds=%d ldd=%d: row %d column %d is %#08x, Ref has %#08x", source, lds, ldd,
				i*4/ldd, i*4%ldd/4, got[i], want[i])
		}
	}
	return nil
}

// TestHopperAdds checks that a negative lds adds the sum of a block to what is there.
func TestHopperAdds(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		const depth, m = 64, sumTiles + 2
		r := rand.New(rand.NewPCG(25, 26))
		maxPitch := k.NR*4 + 76
		s := strip{newGuarded(t, m*k.PanelA(depth)), newGuarded(t, k.PanelB(depth)), newGuarded(t, m*k.MR*maxPitch),
			newGuarded(t, m*k.MR*maxPitch)}
		pa, pb := s.a.last(m*k.PanelA(depth)), s.b.last(k.PanelB(depth))
		a, b := newHopperMatrix(r, E4M3, m*k.MR, depth, hopperOperands[0]),
			newHopperMatrix(r, E4M3, k.NR, depth, hopperOperands[0])
		k.PackA(E4M3, true)(pa, unsafe.Pointer(&a.bytes[0]), depth, m*k.MR, depth)
		k.PackB(E4M3, true)(pb, unsafe.Pointer(&b.bytes[0]), depth, k.NR, depth)
		sum := make([]float32, m*k.MR*k.NR)
		k.Mul(depth, m, pa, pb, nil, k.NR*4, unsafe.Pointer(&sum[0]), k.NR*4)
		for _, mul := range []KernelFunc{k.Mul, k.Ref} {
			for source := 3; source < 5; source++ {
				lds, ldd := pitches(r, k, source)
				span := func(pitch int) int { return (m*k.MR-1)*pitch + k.NR*4 }
				dst := s.dst.last(span(ldd))
				src := dst
				if source == 4 {
					src = s.src.last(span(lds))
				}
				from := unsafe.Slice((*float32)(src), span(lds)/4)
				for i := range from {
					from[i] = r.Float32()
				}
				old := slices.Clone(unsafe.Slice((*float32)(dst), span(ldd)/4))
				before := slices.Clone(from)
				mul(depth, m, pa, pb, src, EndBlock(lds), dst, ldd)
				for i, v := range unsafe.Slice((*float32)(dst), span(ldd)/4) {
					want := old[i]
					if row, col := i*4/ldd, i*4%ldd/4; col < k.NR {
						want = before[row*lds/4+col] + sum[row*k.NR+col]
					}
					if math.Float32bits(v) != math.Float32bits(want) {
						t.Fatalf("source=%d lds=%d ldd=%d: element %d is %v, want %v", source, lds, ldd, i, v, want)
					}
				}
			}
		}
	})
}

// TestHopperFast checks that the assembly takes what it should, so that other tests test it: ordinary operands, and
// none whose bits it would get wrong.
func TestHopperFast(t *testing.T) {
	header := func(largest, smallest, heavy int32) *hopperHeader {
		return &hopperHeader{largest: largest, smallest: smallest, heavy: heavy}
	}
	for _, c := range []struct {
		a, b *hopperHeader
		want bool
	}{
		{header(0, -30, 0), header(15, -20, 0), true},
		{header(45, 0, 1), header(45, 0, 0), true},
		{header(46, 0, 0), header(45, 0, 0), false},
		{header(0, -51, 0), header(0, -50, 0), true},
		{header(0, -51, 0), header(0, -51, 0), false},
		{header(0, 0, 1), header(0, 0, 1), false},
		{header(notFinite, 0, 0), header(-126, -126, 0), false},
	} {
		if got := hopperFits(c.a, c.b, 512); got != c.want {
			t.Errorf("hopperFits(%+v, %+v) = %v", *c.a, *c.b, got)
		}
	}
	if hopperFits(header(0, 0, 0), header(0, 0, 0), maxHopperDepth+1) {
		t.Error("hopperFits has no bound on the depth")
	}

	r := rand.New(rand.NewPCG(25, 26))
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		for typ := range hopperTypes {
			for _, o := range hopperOperands {
				a, b := newHopperMatrix(r, typ, k.MR, 512, o), newHopperMatrix(r, typ, k.NR, 512, o)
				if o.name == "specials" {
					// At least one NaN.
					for i := range typ.Size() - 1 {
						a.bytes[i] = 0xff
					}
					a.bytes[typ.Size()-1] = 0x7f
				}
				pa, pb := aligned(k.PanelA(512)), aligned(k.PanelB(512))
				k.PackA(typ, true)(pa, unsafe.Pointer(&a.bytes[0]), 512*typ.Size(), k.MR, 512)
				k.PackB(typ, true)(pb, unsafe.Pointer(&b.bytes[0]), 512*typ.Size(), k.NR, 512)
				got := hopperFits((*hopperHeader)(pa), (*hopperHeader)(pb), 512)
				switch o.name {
				case "near1", "equal", "sparse", "spread", "largest", "-largest", "heavy":
					if heavy := (*hopperHeader)(pa).heavy & (*hopperHeader)(pb).heavy; got != (heavy == 0) {
						t.Errorf("%v %s: not for the assembly", typ, o.name)
					}
				case "specials":
					if got {
						t.Errorf("%v %s: for the assembly", typ, o.name)
					}
				}
				want := typ.Size() == 2 && slices.Contains([]string{"largest", "-largest", "heavy"}, o.name)
				if heavy := (*hopperHeader)(pa).heavy & (*hopperHeader)(pb).heavy; (heavy != 0) != want {
					t.Errorf("%v %s: heavy %d", typ, o.name, heavy)
				}
			}
		}
	})
}

// TestTame compares the test of accumulators with its twin, for values around every border.
func TestTame(t *testing.T) {
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		s := k.hopper
		pitch := s.nr*4 + 12
		span := (s.mr-1)*pitch + s.nr*4
		g := newGuarded(t, span)
		p := g.last(span)
		words := unsafe.Slice((*uint32)(p), span/4)
		for i := range words {
			words[i] = math.Float32bits(1)
		}
		r := rand.New(rand.NewPCG(27, 28))
		for _, v := range []uint32{0, 1 << 31, 1, 1<<31 | 1, tameFrom - 1, tameFrom, 1<<31 | tameFrom,
			tameFrom + tameSpan - 1, tameFrom + tameSpan, 1<<31 | (tameFrom + tameSpan), 0x7f800000, 0xff800000,
			0x7fc00000, 0xffffffff} {
			magnitude := v &^ (1 << 31)
			want := magnitude == 0 || magnitude >= tameFrom && magnitude < tameFrom+tameSpan
			for range 20 {
				at := r.IntN(s.mr)*pitch/4 + r.IntN(s.nr)
				old := words[at]
				words[at] = v
				if got := s.tameGo(p, pitch); got != want {
					t.Errorf("%#08x: tameGo %v, want %v", v, got, want)
				}
				if got, ok := isTame(k, p, pitch); ok && got != want {
					t.Errorf("%#08x at %d: %v, want %v", v, at, got, want)
				}
				words[at] = old
			}
		}
	})
}

// FuzzHopper compares the kernels with the rule on operands and accumulators made of any bytes.
func FuzzHopper(f *testing.F) {
	r := rand.New(rand.NewPCG(29, 30))
	for range 4 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b, uint8(r.Uint32()), uint8(r.Uint32()))
	}
	f.Add([]byte{0x80, 0x3f, 0x7f, 0x3f, 0xff, 0x3f}, uint8(0), uint8(16))
	f.Fuzz(func(t *testing.T, data []byte, kind, depth uint8) {
		if len(data) < 4 {
			return
		}
		typ := Type(kind) % numTypes
		k := 1 + int(depth)%48
		const m, n = 3, 5
		next := 0
		take := func(size int) []byte {
			b := make([]byte, size)
			for i := range b {
				b[i] = data[next%len(data)]
				next++
			}
			return b
		}
		a := hopperMatrix{typ, m, k, take(m * k * typ.Size())}
		b := hopperMatrix{typ, n, k, take(n * k * typ.Size())}
		c := make([]float32, m*n)
		for i, w := range take(m * n * 4) {
			c[i/4] = math.Float32frombits(math.Float32bits(c[i/4]) | uint32(w)<<(i%4*8))
		}
		want := product(a, b, c)
		for _, kern := range Kernels() {
			if kern.Arithmetic != Hopper || kern.Supported() != nil {
				continue
			}
			got := hopperProduct{a.typ, b.typ, m, n, k, true, unsafe.Pointer(&a.bytes[0]), unsafe.Pointer(&b.bytes[0]),
				32}.run(kern, c)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s %v k=%d element %d: %#08x, the rule says %#08x", kern.Name, typ, k, i,
						math.Float32bits(got[i]), math.Float32bits(want[i]))
				}
			}
		}
	})
}
