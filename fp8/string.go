package fp8

import (
	"math"
	"strconv"
)

// format returns the shortest decimal that is accepted by same, and of several
// equally short the nearest to f, laid out as fmt prints a float32.
func format(f float32, same func(float32) bool) string {
	v := float64(f)
	if v == 0 || v-v != 0 {
		return strconv.FormatFloat(v, 'f', -1, 32)
	}
	layout := byte('f')
	if a := math.Abs(v); a < 1e-4 || a >= 1e21 {
		layout = 'e'
	}
	return strconv.FormatFloat(shortest(v, same), layout, -1, 64)
}

// shortest returns the float64 of the decimal that format prints.
func shortest(v float64, same func(float32) bool) float64 {
	for digits := 1; ; digits++ {
		text := strconv.FormatFloat(v, 'e', digits-1, 64)
		d, err := strconv.ParseFloat(text, 64)
		if err == nil && same(float32(d)) {
			return d
		}
		// What rounds to a power of two reaches half as far towards zero as
		// away from it, so the next decimal away from zero can be right where
		// the nearest one, on the other side, is not.
		ulp := math.Pow10(decimalExponent(text) - digits + 1)
		text = strconv.FormatFloat(d+math.Copysign(ulp, v), 'e', digits-1, 64)
		if d, err = strconv.ParseFloat(text, 64); err == nil && same(float32(d)) {
			return d
		}
	}
}

// decimalExponent returns the exponent of a decimal as strconv.FormatFloat
// writes it with format 'e'.
func decimalExponent(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == 'e' {
			// What FormatFloat wrote Atoi can read.
			exp, _ := strconv.Atoi(text[i+1:])
			return exp
		}
	}
	return 0
}
