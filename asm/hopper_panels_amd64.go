//go:build amd64 && !purego

package asm

import "unsafe"

// assembleHopperPackers gives k the packers in assembly. Those of the values are of the native kernel that has panels as wide.
func assembleHopperPackers(k *Kernel) {
	zmm := k.Name == "hopper-avx512"
	native, groupA, groupB := &avx512, 32, 64
	switch {
	case k.Name == "hopper-avx2":
		native, groupA, groupB = &avx2, 16, 24
	case !zmm:
		return
	}
	for t := range Type(numTypes) {
		for slot, kContiguous := range []bool{false, true} {
			wide := widened(t)
			a := hopperPacker{hopperShape: k.exact, t: t, side: sideA, group: groupA}
			b := hopperPacker{hopperShape: k.exact, t: t, side: sideB, group: groupB}
			for _, c := range []*hopperPacker{&a, &b} {
				c.finish = func(p hopperPanel, depth int) { c.finishAssembly(zmm, p, depth) }
			}
			a.partwise(kContiguous, native.packA[wide][slot])
			if !kContiguous {
				a.values = a.widening(false, a.straight(zmm, wide, native.packA[wide][slot]))
			}
			b.partwise(kContiguous, native.packB[wide][slot])
			k.packA[t][slot], k.packB[t][slot] = a.packFunc(kContiguous), b.packFunc(kContiguous)
			k.finishB[t] = b.finish
		}
	}
}

// straight returns values for panels of A from rows of K, of which several are packed at once: all that there are, or with AVX2
// whole groups.
func (c *hopperPacker) straight(zmm bool, t Type, rest PackFunc) func(dst, src unsafe.Pointer, stride, n, k, depth int) {
	size := t.Size()
	pack512 := map[Type]packAcross512{BF16: packAcross512BF16x8, F16: packAcross512F16x8, F32: packAcross512Wordsx8}[t]
	pack256 := map[Type]packAcross256{BF16: packAcross256BF16x4, F16: packAcross256F16x4, F32: packAcross256Wordsx4}[t]
	return func(dst, src unsafe.Pointer, stride, n, k, depth int) {
		if !zmm && n < c.group {
			c.parts(dst, n, depth, func(part unsafe.Pointer, i, n int) { rest(part, unsafe.Add(src, i*size), stride, n, k) })
			return
		}
		for k0 := 0; k0 < k; k0 += packChunk {
			to, from := unsafe.Add(dst, headerBytes+k0*c.mr*4), unsafe.Add(src, k0*stride)
			if zmm {
				pack512(to, from, stride, n, min(k-k0, packChunk), c.bytes(sideA, depth))
			} else {
				pack256(to, from, stride, min(k-k0, packChunk), c.bytes(sideA, depth))
			}
		}
	}
}
