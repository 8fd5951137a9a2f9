package asm

import (
	"math/bits"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// widened returns the type whose packers make the values of t: fp8 elements become f16 first, which is exact.
func widened(t Type) Type {
	if t.is8() {
		return F16
	}
	return t
}

// half8 maps the fp8 types to the f16 of each element.
var half8 = func() (h [2][256]uint16) {
	for u := range 256 {
		h[0][u], h[1][u] = halfE4M3(uint8(u)), uint16(u)<<8
	}
	return h
}()

// halfE4M3 returns the f16 of an E4M3.
func halfE4M3(u uint8) uint16 {
	sign, field, fraction := uint16(u&0x80)<<8, uint16(u>>3&15), uint16(u&7)
	switch {
	case u&0x7f == 0x7f:
		return sign | 0x7e00
	case field > 0:
		return sign | (field-7+15)<<10 | fraction<<7
	case fraction > 0:
		// Subnormal: fraction · 2^-9. Its leading bit becomes the implicit one.
		n := uint16(bits.Len16(fraction)) - 1
		return sign | (n-9+15)<<10 | fraction<<(10-n)&0x3ff
	}
	return sign
}

// widenGroup and widenDepth bound the rows and the elements of K that are widened at once.
const widenGroup, widenDepth = 64, 128

// wideBuffers order nobody for the race detector, because the agents of kernels pack.
var wideBuffers race.Pool[[widenGroup * widenDepth]uint16]

// widening returns values, a packer of the values of f16, with fp8 elements widened for it on the way; for the other
// types it returns values.
func (c *hopperPacker) widening(
	kContiguous bool, values func(dst, src unsafe.Pointer, stride, n, k, depth int),
) func(dst, src unsafe.Pointer, stride, n, k, depth int) {
	if widened(c.t) == c.t {
		return values
	}
	half, sub := &half8[c.t-E4M3], c.sub(c.side)
	return func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		wide := wideBuffers.Get()
		defer wideBuffers.Put(wide)
		for k0 := 0; k0 < k; k0 += widenDepth {
			steps := min(k-k0, widenDepth)
			from, rows, columns := unsafe.Add(src, k0), n, steps
			if !kContiguous {
				from, rows, columns = unsafe.Add(src, k0*stride), steps, n
			}
			for i := range rows {
				to := wide[i*columns:][:columns]
				for j, u := range unsafe.Slice((*uint8)(unsafe.Add(from, i*stride)), columns) {
					to[j] = half[u]
				}
			}
			values(unsafe.Add(dst, k0*sub*4), unsafe.Pointer(wide), columns*2, n, steps, depth)
		}
	}
}
