//go:build amd64 && !purego

package asm

import "unsafe"

// The packers of the values are those of the native kernels that have panels of the same width.

var values512 = [numTypes][2]struct {
	transposed packT512
	straight   packS512
}{
	BF16: {sideA: {packT8BF16, packS8BF16}, sideB: {packT32BF16, packS32BF16}},
	F16:  {sideA: {packT8F16, packS8F16}, sideB: {packT32F16, packS32F16}},
	F32:  {sideA: {packT8Words, packS8Words}, sideB: {packT32Words, packS32Words}},
}

var values256 = [numTypes]struct {
	transposedA, transposedB pack256
	straightA                packS256
	straightB                pack256
}{
	BF16: {packT4BF16, packT24BF16, packS4BF16, packS24BF16},
	F16:  {packT4F16, packT24F16, packS4F16, packS24F16},
	F32:  {packT4Words, packT24Words, packS4Words, packS24Words},
}

// assembleHopperPackers gives k the packers in assembly.
func assembleHopperPackers(k *Kernel) {
	for t := range Type(numTypes) {
		switch k.Name {
		case "hopper-avx512":
			k.packA[t] = hopperPackers512(hopperPacker{hopperShape: k.exact, t: t, side: sideA, group: 32})
			k.packB[t] = hopperPackers512(hopperPacker{hopperShape: k.exact, t: t, side: sideB, group: 64})
		case "hopper-avx2":
			k.packA[t] = hopperPackers256(hopperPacker{hopperShape: k.exact, t: t, side: sideA, group: 16})
			k.packB[t] = hopperPackers256(hopperPacker{hopperShape: k.exact, t: t, side: sideB, group: 24})
		}
	}
}

func hopperPackers512(c hopperPacker) (slots [2]PackFunc) {
	c.finish = func(p hopperPanel, depth int) { c.finishAssembly(true, p, depth) }
	wide := widened(c.t)
	v := values512[wide][c.side]
	size, sub := wide.Size(), c.sub(c.side)

	c.values = c.widening(true, func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) {
			for k0 := 0; k0 < k; k0 += packChunk {
				v.transposed(unsafe.Add(part, k0*sub*4), unsafe.Add(src, i*stride+k0*size), stride, n, min(k-k0, packChunk))
			}
		})
	})
	slots[packSlot(true)] = c.packFunc(true)

	c.values = c.widening(false, func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		straight := func(part unsafe.Pointer, i, n int) {
			for k0 := 0; k0 < k; k0 += packChunk {
				v.straight(unsafe.Add(part, k0*sub*4), unsafe.Add(src, i*size+k0*stride), stride, n, min(k-k0, packChunk), c.bytes(c.side, depth))
			}
		}
		if c.side == sideA {
			straight(unsafe.Add(dst, headerBytes), 0, n)
		} else {
			c.parts(dst, n, depth, straight)
		}
	})
	slots[packSlot(false)] = c.packFunc(false)
	return slots
}

// hopperPackers256 makes whole panels, and of K whole blocks of 8, in assembly and the rest in Go.
func hopperPackers256(c hopperPacker) (slots [2]PackFunc) {
	c.finish = func(p hopperPanel, depth int) { c.finishAssembly(false, p, depth) }
	wide := widened(c.t)
	v := values256[wide]
	size, width := wide.Size(), c.width(c.side)
	transposed, straight := v.transposedA, v.straightB
	if c.side == sideB {
		transposed = v.transposedB
	}

	c.values = c.widening(true, func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) {
			src, whole := unsafe.Add(src, i*stride), k&^7
			if n < width {
				whole = 0
			}
			for k0 := 0; k0 < whole; k0 += packChunk {
				transposed(unsafe.Add(part, k0*width*4), unsafe.Add(src, k0*size), stride, min(whole-k0, packChunk))
			}
			if whole < k {
				packGeneric(wide, 1, width, true, unsafe.Add(part, whole*width*4), unsafe.Add(src, whole*size), stride, n, k-whole)
			}
		})
	})
	slots[packSlot(true)] = c.packFunc(true)

	c.values = c.widening(false, func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		if c.side == sideA && n == c.group {
			for k0 := 0; k0 < k; k0 += packChunk {
				v.straightA(unsafe.Add(dst, headerBytes+k0*width*4), unsafe.Add(src, k0*stride), stride, min(k-k0, packChunk), c.bytes(sideA, depth))
			}
			return
		}
		c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) {
			if c.side == sideA || n < width {
				packGeneric(wide, 1, width, false, part, unsafe.Add(src, i*size), stride, n, k)
				return
			}
			for k0 := 0; k0 < k; k0 += packChunk {
				straight(unsafe.Add(part, k0*width*4), unsafe.Add(src, i*size+k0*stride), stride, min(k-k0, packChunk))
			}
		})
	})
	slots[packSlot(false)] = c.packFunc(false)
	return slots
}
