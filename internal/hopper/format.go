package hopper

import (
	"math"

	"example.com/leafhopper/fp8"
)

// A Format is the type of a floating-point operand.
type Format uint8

// The operand formats. TF32 is an f32 word whose low 13 bits are ignored.
const (
	BF16 Format = iota
	F16
	TF32
	E4M3
	E5M2
	F32 // accumulators only
)

var formats = [...]struct {
	size int // bytes
	frac int // fraction bits
	exp  int // exponent bits
}{
	BF16: {2, 7, 8},
	F16:  {2, 10, 5},
	TF32: {4, 10, 8},
	E4M3: {1, 3, 4},
	E5M2: {1, 2, 5},
	F32:  {4, 23, 8},
}

// Size returns the bytes of an element in memory.
func (f Format) Size() int { return formats[f].size }

// fraction returns the fraction bits of f.
func (f Format) fraction() int { return formats[f].frac }

// minExp returns the exponent of the smallest normal number, which subnormals
// share.
func (f Format) minExp() int { return 2 - 1<<(formats[f].exp-1) }

// SignBit returns the mask of the sign.
func (f Format) SignBit() uint32 { return 1 << (8*formats[f].size - 1) }

// Class separates the finite numbers from the others.
type Class uint8

// The classes.
const (
	Finite Class = iota
	Infinite
	NaN
)

// A Word is a decoded number: (-1)^Neg · Sig · 2^(Exp-p), p being the fraction
// bits of its format. Subnormals are not normalized. Sig and Exp count only for
// finite numbers.
type Word struct {
	Sig   uint32
	Exp   int32
	Neg   bool
	Class Class
}

// Decode splits a representation; bits above the size of f are ignored.
func (f Format) Decode(u uint32) Word {
	p, n := f.fraction(), formats[f].exp
	if f == TF32 {
		u >>= 13
	}
	field := u >> p & (1<<n - 1)
	w := Word{
		Sig: u & (1<<p - 1),
		Exp: int32(f.minExp()),
		Neg: u>>(p+n)&1 != 0,
	}
	switch {
	case f == E4M3 && field == 1<<n-1 && w.Sig == 1<<p-1:
		w.Class = NaN
	case f != E4M3 && field == 1<<n-1 && w.Sig != 0:
		w.Class = NaN
	case f != E4M3 && field == 1<<n-1:
		w.Class = Infinite
	case field != 0:
		w.Sig |= 1 << p
		w.Exp += int32(field) - 1
	}
	return w
}

// widen returns the f32 representation of the same number.
func (f Format) widen(u uint32) uint32 {
	switch f {
	case BF16:
		return u << 16
	case F16:
		return FromF16(u)
	case TF32:
		return u &^ 0x1fff
	case E4M3:
		return math.Float32bits(fp8.E4M3(u).Float32())
	case E5M2:
		return math.Float32bits(fp8.E5M2(u).Float32())
	}
	return u
}

// F16 has 112 powers of two less below 1 than f32 has.
const (
	f16Up   = 0x1p112
	f16Down = 0x1p-112
)

// FromF16 returns the f32 representation of an f16. The payload of a NaN stays what it is.
func FromF16(u uint32) uint32 {
	sign, v := u&0x8000<<16, u&0x7fff<<13
	if u&infF16 == infF16 {
		return sign | infF32 | v
	}
	return sign | math.Float32bits(math.Float32frombits(v)*f16Up)
}

// ToF16 is the inverse of FromF16, for the f32 representation of a number that f16 has.
func ToF16(u uint32) uint32 {
	sign, v := u>>16&0x8000, u&^(1<<31)
	if v&infF32 == infF32 {
		return sign | infF16 | v>>13&0x3ff
	}
	return sign | math.Float32bits(math.Float32frombits(v)*f16Down)>>13
}
