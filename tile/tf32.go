package tile

const (
	tf32Drop = 13 // fraction bits that f32 has and tf32 has not
	tf32NaN  = 0x7fffe000
	f32Inf   = 0xff << 23
	f32Sign  = 1 << 31

	pair = 1<<32 | 1 // times a word: that word in both halves
)

// roundTF32 rounds the bits of an f32 to the nearest tf32, ties to even: eight
// exponent and ten fraction bits in the upper 19 bits of the word. Subnormals
// and infinities stay; every NaN becomes the one that the hardware writes.
func roundTF32(w uint32) uint32 {
	if w&^f32Sign > f32Inf {
		return tf32NaN
	}
	return (w + 1<<(tf32Drop-1) - 1 + w>>tf32Drop&1) &^ (1<<tf32Drop - 1)
}

// roundPairTF32 is roundTF32 on both halves of w. But for a NaN a half is at
// most -Inf, 0xff800000, and rounding cannot carry out of it into the other.
func roundPairTF32(w uint64) uint64 {
	if (w&^(pair*f32Sign)+pair*(f32Sign-1-f32Inf))&(pair*f32Sign) != 0 {
		return uint64(roundTF32(uint32(w>>32)))<<32 | uint64(roundTF32(uint32(w)))
	}
	return (w + pair*(1<<(tf32Drop-1)-1) + w>>tf32Drop&pair) &^ (pair * (1<<tf32Drop - 1))
}
