// Package decimal writes the numbers of short floating-point formats with as few digits as tell them apart.
package decimal

import (
	"math"
	"strconv"
	"strings"
)

// Shortest returns the shortest decimal that becomes a number again when it is parsed as a float32 and rounded to the
// number's format, and of several equally short the nearest. The number is f, and same reports whether a float32 is
// rounded to it. The decimal has an exponent if it is below 1e-4 or not below 1e21. Other forms are "NaN", "+Inf" and
// "-Inf".
func Shortest(f float32, same func(float32) bool) string {
	v := float64(f)
	if v == 0 || v-v != 0 {
		return strconv.FormatFloat(v, 'f', -1, 32)
	}
	d := shortest(v, same)
	layout := byte('f')
	if a := math.Abs(d); a < 1e-4 || a >= 1e21 {
		layout = 'e'
	}
	// The few digits of d are the shortest that name this float64, so they come back as they are.
	return strconv.FormatFloat(d, layout, -1, 64)
}

// shortest returns the float64 nearest to the shortest decimal for v.
func shortest(v float64, same func(float32) bool) float64 {
	for digits := 1; ; digits++ {
		d, exponent, ok := round(v, digits, same)
		if ok {
			return d
		}
		// What rounds to a power of two reaches half as far towards zero as away from it. So the next decimal away
		// from zero can be right where the nearest one, on the other side, is not.
		ulp := math.Pow10(exponent - digits + 1)
		if d, _, ok = round(d+math.Copysign(ulp, v), digits, same); ok {
			return d
		}
	}
}

// round returns the decimal of so many digits that is nearest to v, the exponent of its first digit, and whether it
// is the number that same knows.
func round(v float64, digits int, same func(float32) bool) (d float64, exponent int, ok bool) {
	text := strconv.FormatFloat(v, 'e', digits-1, 64)
	_, exp, _ := strings.Cut(text, "e")
	// What FormatFloat wrote is no syntax error; what a float32 cannot hold becomes an infinity.
	exponent, _ = strconv.Atoi(exp)
	d, _ = strconv.ParseFloat(text, 64)
	f, _ := strconv.ParseFloat(text, 32)
	return d, exponent, same(float32(f))
}
