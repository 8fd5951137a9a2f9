package asm

import (
	"math"
	"unsafe"
)

// hopperBlock is how many products [hopperHeader.dot] takes at once; every L is a multiple.
const hopperBlock = 8

// maxProducts is the largest L.
const maxProducts = 32

// A hopperRow is a row of A or a column of B in one step of L products: values and exponents.
type hopperRow struct {
	value    [maxProducts]float64
	exponent [maxProducts]int32
}

// Exponents of what has none: sums with a zero factor stay below those of nonzero factors, and sums with a factor
// that is not finite stay above.
const (
	zeroExponent = -1 << 16
	nonzeroSum   = zeroExponent / 2
	finiteSum    = notFinite / 2
)

// set decodes the value with representation v.
func (r *hopperRow) set(k int, v uint32, normal int32) {
	r.value[k], r.exponent[k] = float64(math.Float32frombits(v)), exponent(v, normal)
}

// exponent returns the exponent of the value with representation v.
func exponent(v uint32, normal int32) int32 {
	switch field := int32(v >> 23 & 255); {
	case field == 255:
		return notFinite
	case v<<1 == 0:
		return zeroExponent
	default:
		return max(field-127, normal)
	}
}

// dot returns the accumulator after one step, a float32 or one that is an f16 number. It counts in float64, which
// holds products of elements exactly, whatever their exponents: a term over 2^(E-F), a power of two, converted to an
// integer is truncated toward zero.
func (h *hopperHeader) dot(acc float32, x, y *hopperRow, f16 bool) float32 {
	least := int32(-126)
	if f16 {
		least = -14
	}
	largest := exponent(math.Float32bits(acc), least)
	n := int(h.products)
	for k := 0; k < n; k += hopperBlock {
		p, q := (*[hopperBlock]int32)(x.exponent[k:]), (*[hopperBlock]int32)(y.exponent[k:])
		e0, e1 := max(p[0]+q[0], p[1]+q[1]), max(p[2]+q[2], p[3]+q[3])
		e2, e3 := max(p[4]+q[4], p[5]+q[5]), max(p[6]+q[6], p[7]+q[7])
		largest = max(largest, max(e0, e1), max(e2, e3))
	}
	switch {
	case largest >= finiteSum:
		return h.infinite(float64(acc), x, y)
	case largest < nonzeroSum:
		return 0
	}
	unit := int(largest - h.fraction)
	scale := power(-unit)
	// A term is below 2^(F+2), so a block of them fits 32 bits, to which every processor converts.
	sum := int64(int32(float64(acc) * scale))
	for k := 0; k < n; k += hopperBlock {
		p, q := (*[hopperBlock]float64)(x.value[k:]), (*[hopperBlock]float64)(y.value[k:])
		s0 := int32(p[0]*q[0]*scale) + int32(p[1]*q[1]*scale)
		s1 := int32(p[2]*q[2]*scale) + int32(p[3]*q[3]*scale)
		s2 := int32(p[4]*q[4]*scale) + int32(p[5]*q[5]*scale)
		s3 := int32(p[6]*q[6]*scale) + int32(p[7]*q[7]*scale)
		sum += int64(s0 + s1 + (s2 + s3))
	}
	// The sum has less than 40 bits.
	if f16 {
		return roundF16(float64(sum) * power(unit))
	}
	return truncate(float64(sum)*power(unit), int(h.result))
}

// power returns 2^n, for n from -1022 to 1023.
func power(n int) float64 { return math.Float64frombits(uint64(1023+n) << 52) }

// truncate returns x, which is 0 or normal, rounded toward zero to a float32 with fraction bits of fraction; less than
// 2^-126 to a multiple of 2^(-126-fraction). What is 2^128 or more becomes infinite, and what becomes nothing is +0.
func truncate(x float64, fraction int) float32 {
	if math.Abs(x) < minNormal {
		grid := power(126 + fraction)
		return float32(float64(int64(x*grid)) / grid)
	}
	mask := uint64(1)<<(52-fraction) - 1
	return float32(math.Float64frombits(math.Float64bits(x) &^ mask))
}

// roundF16 returns x, which is 0 or normal, rounded to nearest even to f16, as a float32. What is 65520 or more becomes
// infinite, and what becomes nothing is +0.
func roundF16(x float64) float32 {
	if math.Abs(x) < 0x1p-14 {
		if x = math.RoundToEven(x * 0x1p24); x == 0 {
			return 0
		}
		return float32(x / 0x1p24)
	}
	const drop = 52 - 10
	u := math.Float64bits(x)
	u = (u + 1<<(drop-1) - 1 + u>>drop&1) &^ (1<<drop - 1)
	if x = math.Float64frombits(u); math.Abs(x) >= 0x1p16 {
		x = math.Inf(1 - 2*int(u>>63))
	}
	return float32(x)
}

// infinite is dot with a term that is not finite. IEEE arithmetic has the same rules for infinities and NaN, and the
// finite terms cannot make a float64 overflow.
func (h *hopperHeader) infinite(sum float64, x, y *hopperRow) float32 {
	for k := range int(h.products) {
		sum += x.value[k] * y.value[k]
	}
	if sum != sum {
		return math.Float32frombits(0x7fffffff)
	}
	return float32(sum)
}

// mul is the kernel in plain Go, and mulF16 that with accumulators in f16.
func (s *hopperShape) mul(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	s.adding(func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		s.mulExact(k, m, a, b, src, lds, dst, ldd, false)
	})(k, m, a, b, src, lds, dst, ldd)
}

func (s *hopperShape) mulF16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	s.mulExact(k, m, a, b, src, lds, dst, ldd, true)
}

// mulExact is both, but for blocks of K that end. It reads the values of the panels, not the exponents, and works for
// all operands.
func (s *hopperShape) mulExact(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, f16 bool) {
	var x hopperRow
	var columns [maxHopperNR]hopperRow
	for p := range m {
		from, to := tileAt(src, p, s.mr, lds), tileAt(dst, p, s.mr, ldd)
		if k == 0 {
			var tile [maxHopperTile]float32
			loadTile(tile[:], from, lds, s.mr, s.nr)
			storeTile(to, ldd, tile[:], nil, 0, s.mr, s.nr)
			continue
		}
		pa, pb := s.panelAt(unsafe.Add(a, p*s.bytes(sideA, k)), sideA, k), s.panelAt(b, sideB, k)
		step := int(pb.header.products)
		for k0 := 0; k0 < k; k0 += step {
			for j := range s.nr {
				part := unsafe.Add(pb.values, (j/s.part*s.part*k+k0*s.part+j%s.part)*4)
				for kk := range step {
					columns[j].set(kk, *(*uint32)(unsafe.Add(part, kk*s.part*4)), pb.header.normal)
				}
			}
			for i := range s.mr {
				for kk := range step {
					x.set(kk, *(*uint32)(unsafe.Add(pa.values, ((k0+kk)*s.mr+i)*4)), pa.header.normal)
				}
				out := unsafe.Slice((*float32)(unsafe.Add(to, i*ldd)), s.nr)
				in := out
				if k0 == 0 {
					in = zeroRow[:s.nr]
					if from != nil {
						in = unsafe.Slice((*float32)(unsafe.Add(from, i*lds)), s.nr)
					}
				}
				for j := range out {
					out[j] = pb.header.dot(in[j], &x, &columns[j], f16)
				}
			}
		}
	}
}

// hopperFits reports whether 32 bits are enough to multiply two panels.
func hopperFits(a, b *hopperHeader, depth int) bool {
	return a.largest+b.largest <= maxExponents && a.smallest+b.smallest >= minExponents && a.heavy&b.heavy == 0 &&
		depth <= maxHopperDepth
}

// tameFrom is the first float32 that is large enough for an accumulator of the assembly, as an integer, and tameSpan
// the number of those that are.
const (
	tameFrom = (127 + minAccumulator) << 23
	tameSpan = (maxAccumulator - minAccumulator) << 23
)

// tameGo reports whether the assembly can start from the accumulators of a tile: all are zero or in the range.
func (s *hopperShape) tameGo(src unsafe.Pointer, lds int) bool {
	for i := range s.mr {
		for _, v := range unsafe.Slice((*uint32)(unsafe.Add(src, i*lds)), s.nr) {
			if v &^= 1 << 31; v != 0 && v-tameFrom >= tameSpan {
				return false
			}
		}
	}
	return true
}

// zeroRow is the row of a tile that starts at zero.
var zeroRow [maxHopperNR]float32

const peakHopperGoFlops = 2 * hopperBlock

// peakHopperGo repeats a block of products of dot.
func peakHopperGo(n int) {
	x, y := float64(opaque[float32](0)), float64(opaque[float32](1))
	scale := x + 2
	var sum [4]int64
	for range n {
		for i := range sum {
			sum[i] += int64(int32(x*y*scale) + int32(y*y*scale))
		}
	}
	opaque(float32(sum[0] + sum[1] + sum[2] + sum[3]))
}
