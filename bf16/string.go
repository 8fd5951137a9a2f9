package bf16

import "example.com/leafhopper/internal/decimal"

// String returns the shortest decimal that is b again when parsed as a float32
// and rounded to BF16, and of several equally short the nearest to b. It has an
// exponent if b is below 1e-4 or not below 1e21. Other forms are "NaN", "+Inf" and "-Inf".
func (b BF16) String() string {
	return decimal.Shortest(b.Float32(), func(f float32) bool { return FromFloat32(f) == b })
}
