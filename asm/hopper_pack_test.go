package asm

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"

	"example.com/leafhopper/fp8"
	"example.com/leafhopper/tf32"
)

// A hopperElements makes the bits of source elements of one kind.
type hopperElements struct {
	name string
	bits func(r *rand.Rand, t Type) uint32
}

// element returns a random sign and fraction of a type with an exponent field.
func element(r *rand.Rand, t Type, field int) uint32 {
	u := r.Uint32()
	switch t {
	case BF16:
		return u&0x807f | uint32(field)<<7
	case F16:
		return u&0x83ff | uint32(field)<<10
	case E4M3:
		return u&0x87 | uint32(field)<<3
	case E5M2:
		return u&0x83 | uint32(field)<<2
	}
	return u&0x807fffff | uint32(field)<<23
}

func signBit(t Type) uint32 { return 1 << (8*t.Size() - 1) }

var fractionBits = map[Type]uint32{BF16: 0x7f, F16: 0x3ff, F32: 0x7fffff, E4M3: 7, E5M2: 3}

// one is the exponent field of 1.
func one(t Type) int {
	switch t {
	case F16, E5M2:
		return 15
	case E4M3:
		return 7
	}
	return 127
}

var hopperOperands = []hopperElements{
	{"near1", func(r *rand.Rand, t Type) uint32 { return element(r, t, one(t)-r.IntN(4)) }},
	{"equal", func(r *rand.Rand, t Type) uint32 { return element(r, t, one(t)) }},
	{"sparse", func(r *rand.Rand, t Type) uint32 {
		if r.IntN(3) > 0 {
			return r.Uint32() & 1 << (8*t.Size() - 1)
		}
		return element(r, t, max(one(t)-r.IntN(12), 0))
	}},
	{"spread", func(r *rand.Rand, t Type) uint32 { return element(r, t, min(max(one(t)+r.IntN(60)-45, 0), 2*one(t))) }},
	{"any", func(r *rand.Rand, t Type) uint32 { return r.Uint32() }},
	// What decides a rounding to tf32: ties and their neighbours, carries out of the fraction and into infinity, and
	// NaN whose payload would be lost.
	{"ties", func(r *rand.Rand, t Type) uint32 {
		u := element(r, t, []int{0, 1, one(t), 2 * one(t), 2*one(t) + 1}[r.IntN(5)])
		if t == F32 {
			u = u&^0x1fff | []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff}[r.IntN(6)]
			u = []uint32{u, u | 0x7fe000, u &^ 0x7fe000}[r.IntN(3)]
		}
		return u
	}},
	{"small", func(r *rand.Rand, t Type) uint32 { return element(r, t, r.IntN(3)) }},
	// Sums of products of these need the 33rd bit, or nearly.
	{"largest", func(r *rand.Rand, t Type) uint32 { return element(r, t, one(t))&^signBit(t) | fractionBits[t] }},
	{"-largest", func(r *rand.Rand, t Type) uint32 { return element(r, t, one(t)) | signBit(t) | fractionBits[t] }},
	{"heavy", func(r *rand.Rand, t Type) uint32 {
		return element(r, t, one(t))&^signBit(t) | fractionBits[t]&^(fractionBits[t]>>4)
	}},
	{"specials", func(r *rand.Rand, t Type) uint32 {
		if r.IntN(200) == 0 {
			return element(r, t, map[Type]int{BF16: 255, F16: 31, F32: 255, E4M3: 15, E5M2: 31}[t])
		}
		return element(r, t, one(t)-r.IntN(4))
	}},
	// A mask: half are -Inf, or NaN where the type has no infinities.
	{"mask", func(r *rand.Rand, t Type) uint32 {
		if r.IntN(2) == 0 {
			return map[Type]uint32{BF16: 0xff80, F16: 0xfc00, F32: 0xff800000, E4M3: 0xff, E5M2: 0xfc}[t]
		}
		return element(r, t, one(t)-r.IntN(4))
	}},
	{"NaN", func(r *rand.Rand, t Type) uint32 { return r.Uint32() | 1<<(8*t.Size()-1) - 1 }},
	// All that there is: zeros, subnormal numbers, both ends of the exponents, infinities and NaN.
	{"mixed", func(r *rand.Rand, t Type) uint32 {
		last := 1<<(8*t.Size()-1-bits.Len32(fractionBits[t])) - 1
		u := element(r, t, []int{0, 1, one(t), one(t), one(t), one(t), last - 1, last}[r.IntN(8)])
		if r.IntN(2) == 0 {
			u &^= fractionBits[t]
		}
		return u
	}},
}

// fill fills n bytes at p with elements.
func (o hopperElements) fill(r *rand.Rand, t Type, p unsafe.Pointer, n int) {
	for i := 0; i < n; i += t.Size() {
		u := o.bits(r, t)
		switch t.Size() {
		case 1:
			*(*uint8)(unsafe.Add(p, i)) = uint8(u)
		case 2:
			*(*uint16)(unsafe.Add(p, i)) = uint16(u)
		default:
			*(*uint32)(unsafe.Add(p, i)) = u
		}
	}
}

// TestHopperPack compares the packers with their plain-Go twins, and those with the definition of a panel.
func TestHopperPack(t *testing.T) {
	const maxK = 70
	rounds := 40
	if raceEnabled || testing.Short() {
		rounds = 6
	}
	forArithmetic(t, Hopper, func(t *testing.T, k *Kernel) {
		for _, side := range []panelSide{sideA, sideB} {
			width := k.hopper.width(side)
			maxR := 2*width + 1
			if side == sideA {
				maxR = 33 + width // past a group of panels that are packed together
			}
			panels := (maxR + width - 1) / width
			dst := newGuarded(t, panels*k.hopper.bytes(side, maxK+32))
			want := newGuarded(t, len(dst.mem))
			src := newGuarded(t, (maxR+9)*(maxK+9)*4)
			for typ := range hopperTypes {
				for slot, kContiguous := range []bool{false, true} {
					pack := k.PackA(typ, kContiguous)
					if side == sideB {
						pack = k.PackB(typ, kContiguous)
					}
					twin := k.hopper.packer(typ, side, kContiguous)
					t.Run(fmt.Sprintf("side=%d/%v/kContiguous=%v", side, typ, kContiguous), func(t *testing.T) {
						r := rand.New(rand.NewPCG(20, uint64(slot)))
						for _, o := range hopperOperands {
							o.fill(r, typ, unsafe.Pointer(&src.mem[0]), len(src.mem))
							for range rounds {
								n, depth := 1+r.IntN(maxR), 1+r.IntN(maxK)
								c := hopperPackCase{k, typ, side, kContiguous, n, depth, r.IntN(9)}
								if err := c.check(dst, want, src, pack, twin); err != nil {
									t.Fatalf("%s: r=%d k=%d: %v", o.name, n, depth, err)
								}
							}
						}
					})
				}
			}
		}
	})
}

type hopperPackCase struct {
	kern        *Kernel
	typ         Type
	side        panelSide
	kContiguous bool
	r, k, extra int
}

func (c hopperPackCase) check(dst, want, src guarded, pack, twin PackFunc) error {
	size := c.typ.Size()
	rows, columns := c.r, c.k
	if !c.kContiguous {
		rows, columns = c.k, c.r
	}
	stride := (columns + c.extra) * size
	span := (rows-1)*stride + columns*size
	shape := c.kern.hopper
	depth := roundUp(c.k, c.kern.KStep(c.typ))
	width := shape.width(c.side)
	bytesPanel := shape.bytes(c.side, depth)
	n := (c.r + width - 1) / width * bytesPanel
	for _, atEnd := range []bool{true, false} {
		from, to := src.first(span), dst.first(n)
		if atEnd {
			from, to = src.last(span), dst.last(n)
		}
		// The bytes that round a panel up are nobody's.
		got, twins := unsafe.Slice((*byte)(to), n), want.mem[:n]
		for i := range got {
			got[i], twins[i] = 0xa5, 0xa5
		}
		pack(to, from, stride, c.r, c.k)
		twin(unsafe.Pointer(&twins[0]), from, stride, c.r, c.k)
		if !bytes.Equal(got, twins) {
			for i := range got {
				if got[i] != twins[i] {
					return fmt.Errorf("atEnd=%v stride=%d: byte %d of panel %d is %#x, the twin has %#x", atEnd, stride,
						i%bytesPanel, i/bytesPanel, got[i], twins[i])
				}
			}
		}
		for i := range c.r {
			p := shape.panelAt(unsafe.Add(to, i/width*bytesPanel), c.side, depth)
			if err := c.checkRow(p, i%width, depth, func(kk int) uint32 {
				if kk >= c.k {
					return 0
				}
				o := i*stride + kk*size
				if !c.kContiguous {
					o = kk*stride + i*size
				}
				switch c.typ {
				case BF16:
					return uint32(*(*uint16)(unsafe.Add(from, o))) << 16
				case F16:
					return widenF16(*(*uint16)(unsafe.Add(from, o)))
				case E4M3, E5M2:
					return widenF16(half8[c.typ-E4M3][*(*uint8)(unsafe.Add(from, o))])
				}
				return tf32.RoundBits(*(*uint32)(unsafe.Add(from, o)))
			}); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
	}
	return nil
}

// checkRow checks the values of a row of a panel and that they agree with the exponents and the header.
func (c hopperPackCase) checkRow(p hopperPanel, i, depth int, value func(kk int) uint32) error {
	shape, h := c.kern.hopper, p.header
	sub := shape.sub(c.side)
	for kk := range depth {
		want := value(kk)
		if got := *(*uint32)(unsafe.Add(p.values, (i/sub*sub*depth+kk*sub+i%sub)*4)); got != want {
			return fmt.Errorf("value %d is %#x, want %#x", kk, got, want)
		}
		var e int32
		if c.side == sideB {
			e = int32(*(*int8)(unsafe.Add(p.exponents, kk*shape.pitch+i)))
		} else {
			word := *(*uint32)(unsafe.Add(p.exponents, (kk*shape.mr+i)*4))
			if e = int32(int8(word)); word != uint32(uint8(e))*0x01010101 {
				return fmt.Errorf("exponent %d is %#x, want a byte four times", kk, word)
			}
		}
		exact := exponent(want, h.normal)
		switch {
		case exact == zeroExponent && e != -128,
			exact == notFinite && h.largest != notFinite,
			exact != zeroExponent && exact != notFinite &&
				(exact < h.smallest || exact > h.largest || h.largest != notFinite &&
					e != max(exact-h.largest+63, -128)):
			return fmt.Errorf("exponent %d of %#x is %d, the header has %d to %d", kk, want, e, h.smallest, h.largest)
		}
	}
	return nil
}

// TestHopperPackLong crosses the bounds on one call of assembly, and packs nothing.
func TestHopperPackLong(t *testing.T) {
	const r, k = 65, 2*4096 + 11
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		src := make([]uint16, r*k)
		rnd := rand.New(rand.NewPCG(21, 22))
		hopperOperands[3].fill(rnd, BF16, unsafe.Pointer(&src[0]), len(src)*2)
		depth := roundUp(k, kern.KStep(BF16))
		for side, packs := range []func(Type, bool) PackFunc{kern.PackA, kern.PackB} {
			n := (r + kern.hopper.width(panelSide(side)) - 1) / kern.hopper.width(panelSide(side)) *
				kern.hopper.bytes(panelSide(side), depth)
			for _, kContiguous := range []bool{true, false} {
				stride := k * 2
				if !kContiguous {
					stride = r * 2
				}
				got, want := unsafe.Slice((*byte)(aligned(n)), n), unsafe.Slice((*byte)(aligned(n)), n)
				pack := packs(BF16, kContiguous)
				pack(unsafe.Pointer(&got[0]), unsafe.Pointer(&src[0]), stride, 0, k)
				for i, x := range got {
					if x != 0 {
						t.Fatalf("packing nothing wrote byte %d", i)
					}
				}
				pack(unsafe.Pointer(&got[0]), unsafe.Pointer(&src[0]), stride, r, k)
				kern.hopper.packer(BF16, panelSide(side), kContiguous)(unsafe.Pointer(&want[0]),
					unsafe.Pointer(&src[0]), stride, r, k)
				if !bytes.Equal(got, want) {
					t.Errorf("side %d kContiguous=%v: differs from the twin", side, kContiguous)
				}
			}
		}
	})
}

// TestHalves compares the tables with package fp8.
func TestHalves(t *testing.T) {
	for u := range 256 {
		for i, want := range []float32{fp8.E4M3(u).Float32(), fp8.E5M2(u).Float32()} {
			got := math.Float32frombits(widenF16(half8[i][u]))
			if !sameBits(got, want) {
				t.Errorf("%v %#02x: %v, want %v", E4M3+Type(i), u, got, want)
			}
		}
	}
}

// TestHopperAllocs checks that neither packing nor multiplying allocates.
func TestHopperAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	const k = 64
	forArithmetic(t, Hopper, func(t *testing.T, kern *Kernel) {
		for typ := range hopperTypes {
			src := make([]uint32, 64*k)
			p := unsafe.Pointer(&src[0])
			pa, pb, dst := aligned(2*kern.PanelA(k)), aligned(kern.PanelB(k)), aligned(2*kern.MR*kern.NR*4)
			if n := testing.AllocsPerRun(20, func() {
				kern.PackA(typ, true)(pa, p, k*typ.Size(), 2*kern.MR, k)
				kern.PackB(typ, false)(pb, p, kern.NR*typ.Size(), kern.NR, k)
				kern.Mul(k, 2, pa, pb, dst, kern.NR*4, dst, kern.NR*4)
			}); n != 0 {
				t.Errorf("%v: %v allocations", typ, n)
			}
		}
	})
}
