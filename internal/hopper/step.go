package hopper

import "math/bits"

// A Spec is the arithmetic of one kind of instruction with floating-point
// accumulators.
type Spec struct {
	A, B Format
	Acc  Format // F32 or F16, of C and D
	L    int    // products in one step, the K of the instruction
	F    int    // bits kept below the largest exponent, at most 26
	Frac int    // fraction bits of the result, at most those of Acc
}

// SpecOf returns the arithmetic of the instruction with operands of formats a and b and accumulators of acc, F32 or
// F16.
func SpecOf(a, b, acc Format) Spec {
	s := Spec{A: a, B: b, Acc: acc, L: len(Row{}) / a.Size(), F: 25, Frac: acc.fraction()}
	if a.Size() == 1 { // fp8
		s.F, s.Frac = 13, min(13, s.Frac)
	}
	return s
}

// Representations that are the same in all kinds.
const (
	nanF32 = 0x7fffffff
	infF32 = 0x7f800000
	nanF16 = 0x7fff
	infF16 = 0x7c00
)

// Step returns D = A·B + C of one element: acc is C, and the result D, in the
// representation of s.Acc; a and b are the L elements of a row of A and of a
// column of B. It is the definition that [Spec.Multiply] must reproduce.
func (s *Spec) Step(acc uint32, a, b []Word) uint32 {
	c := s.Acc.Decode(acc)
	if class, neg := special(c, a, b); class == NaN {
		return s.nan()
	} else if class == Infinite {
		return s.inf(neg)
	}

	const none = -1 << 30
	largest := int32(none)
	if c.Sig != 0 {
		largest = c.Exp
	}
	for k := range a {
		if a[k].Sig != 0 && b[k].Sig != 0 {
			largest = max(largest, a[k].Exp+b[k].Exp)
		}
	}
	if largest == none {
		return 0
	}

	sum := s.align(uint64(c.Sig), s.Acc.fraction(), largest-c.Exp, c.Neg)
	for k := range a {
		product := uint64(a[k].Sig) * uint64(b[k].Sig)
		if product == 0 {
			continue
		}
		frac := s.A.fraction() + s.B.fraction()
		sum += s.align(product, frac, largest-a[k].Exp-b[k].Exp, a[k].Neg != b[k].Neg)
	}
	return s.round(sum, int(largest)-s.F)
}

// special looks for the terms that are not finite.
func special(c Word, a, b []Word) (class Class, neg bool) {
	see := func(x Class, n bool) {
		switch {
		case x == Infinite && class == Infinite && n != neg:
			class = NaN
		case x > class:
			class, neg = x, n
		}
	}
	see(c.Class, c.Neg)
	for k := range a {
		x := max(a[k].Class, b[k].Class)
		if a[k].Class == Infinite && b[k].Class == Finite && b[k].Sig == 0 ||
			b[k].Class == Infinite && a[k].Class == Finite && a[k].Sig == 0 {
			x = NaN
		}
		see(x, a[k].Neg != b[k].Neg)
	}
	return class, neg
}

// align returns a term in units of 2^(E-F), truncated toward zero: its
// significand has frac fraction bits and its exponent is below E by down.
func (s *Spec) align(sig uint64, frac int, down int32, neg bool) int64 {
	if sig == 0 {
		return 0
	}
	if left := s.F - frac - int(down); left >= 0 {
		sig <<= left
	} else {
		sig >>= -left
	}
	if neg {
		return -int64(sig)
	}
	return int64(sig)
}

// round returns sum·2^unit in the accumulator's format.
func (s *Spec) round(sum int64, unit int) uint32 {
	if sum == 0 {
		return 0
	}
	mag := uint64(max(sum, -sum))
	minExp := s.Acc.minExp()
	exp := max(bits.Len64(mag)-1+unit, minExp)
	field := uint32(exp - minExp) // one less than the exponent field of a normal

	// Shift until the last bit weighs 2^(exp-s.Frac).
	if drop := exp - s.Frac - unit; drop <= 0 {
		mag <<= -drop
	} else if s.Acc == F16 {
		mag = nearestEven(mag, drop)
	} else {
		mag >>= min(drop, 63)
	}
	if mag == 0 {
		return 0
	}
	// The leading bit of a normal, or a carry out of the fraction, adds to the
	// exponent.
	frac := s.Acc.fraction()
	u := field<<frac + uint32(mag)<<(frac-s.Frac)
	if s.Acc == F16 {
		u = min(u, infF16)
	} else if exp > 127 {
		u = infF32
	}
	if sum < 0 {
		u |= s.Acc.SignBit()
	}
	return u
}

// nearestEven drops the last bits of mag, 1 or more of them.
func nearestEven(mag uint64, drop int) uint64 {
	if drop > 62 {
		return 0
	}
	return (mag + 1<<(drop-1) - 1 + mag>>drop&1) >> drop
}

func (s *Spec) nan() uint32 {
	if s.Acc == F16 {
		return nanF16
	}
	return nanF32
}

func (s *Spec) inf(neg bool) uint32 {
	u := uint32(infF32)
	if s.Acc == F16 {
		u = infF16
	}
	if neg {
		u |= s.Acc.SignBit()
	}
	return u
}
