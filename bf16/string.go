package bf16

import "strconv"

// String returns the shortest decimal that is b again when parsed as a float32
// and rounded to BF16, and of several equally short the nearest to b. It has an
// exponent if b is below 1e-4 or not below 1e21. Other forms are "NaN", "+Inf" and "-Inf".
func (b BF16) String() string {
	if b&infinity == infinity || b.Abs() == 0 {
		return strconv.FormatFloat(float64(b.Float32()), 'f', -1, 32)
	}
	d := b.Abs().decimal()
	format := byte('f')
	if d < 1e-4 || d >= 1e21 {
		format = 'e'
	}
	if b.Signbit() {
		d = -d
	}
	// The few digits of d are the shortest that name this float64, so they
	// come back as they are.
	return strconv.FormatFloat(d, format, -1, 64)
}

// decimal returns the float64 nearest to the shortest decimal for b, which must
// be positive and finite.
func (b BF16) decimal() float64 {
	var buf [24]byte
	v := float64(b.Float32())
	for digits := 1; ; digits++ {
		s := strconv.AppendFloat(buf[:0], v, 'e', digits-1, 64)
		if d, ok := b.parsesFrom(s); ok {
			return d
		}
		// What rounds to a power of two reaches half as far below it as
		// above. So the decimal next above can be right where the nearest
		// one, below, is not.
		if d, ok := b.parsesFrom(increment(s, digits)); ok {
			return d
		}
	}
}

// parsesFrom reports whether the decimal s is b, and its value.
func (b BF16) parsesFrom(s []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(s), 32)
	if err != nil || FromFloat32(float32(f)) != b {
		return 0, false
	}
	d, err := strconv.ParseFloat(string(s), 64)
	return d, err == nil
}

// increment adds one to the last of the digits of s, a decimal as
// strconv.FormatFloat writes it with format 'e', in place. A carry out of the
// first digit is dropped: the decimal it would make has fewer digits, and those
// were tried before.
func increment(s []byte, digits int) []byte {
	last := digits // behind the point
	if digits == 1 {
		last = 0
	}
	for i := last; i >= 0; i-- {
		switch s[i] {
		case '.':
		case '9':
			s[i] = '0'
		default:
			s[i]++
			return s
		}
	}
	return s
}
