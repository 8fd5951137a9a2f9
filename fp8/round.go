package fp8

import "math"

const (
	f32Inf  = 0xff << 23
	f32Bias = 127
	f32Frac = 23
)

// A layout is what the two formats differ in.
type layout struct {
	frac uint32 // fraction bits
	bias uint32
}

var (
	layoutE4M3 = layout{frac: 3, bias: 7}
	layoutE5M2 = layout{frac: 2, bias: 15}
)

// split returns the bits of |f| and the sign where an fp8 number has it.
func split(f float32) (abs uint32, sign uint8) {
	u := math.Float32bits(f)
	return u &^ (1 << 31), uint8(u >> 24 & signMask)
}

// round rounds the float32 with the bits u, which must be positive and not NaN,
// to nearest even as if the exponent had no upper limit. The result counts on
// behind the largest representation of the format.
func (l layout) round(u uint32) uint32 {
	if u>>f32Frac > f32Bias-l.bias {
		drop := f32Frac - l.frac
		// The carry of the fraction moves on to the exponent.
		return (u+1<<(drop-1)-1+u>>drop&1)>>drop - (f32Bias-l.bias)<<l.frac
	}
	// The result is subnormal, or becomes the smallest normal: a fixed-point
	// number. Adding the float32 whose last bit has that weight rounds it.
	magic := (f32Bias + 1 - l.bias + f32Frac - l.frac) << f32Frac
	return math.Float32bits(math.Float32frombits(u)+math.Float32frombits(magic)) - magic
}

// decodeTable returns the float32 bits of every representation. special returns
// those of the ones that are no finite numbers, without sign, and 0 for others.
func decodeTable(l layout, special func(uint8) uint32) *[256]uint32 {
	var t [256]uint32
	for i := range t {
		u := uint32(i) &^ signMask
		w := special(uint8(i))
		if w == 0 {
			// As a float32, exponent and fraction where they belong, it is too
			// small by the difference of the biases; that multiplication is
			// exact and normalizes subnormals.
			scale := math.Float32frombits((2*f32Bias - l.bias) << f32Frac)
			w = math.Float32bits(math.Float32frombits(u<<(f32Frac-l.frac)) * scale)
		}
		t[i] = w | uint32(i)&signMask<<24
	}
	return &t
}
