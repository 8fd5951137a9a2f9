//go:build amd64 && !purego

package asm

import "unsafe"

// wideDepth is the number of elements of K that a call of the wide kernels decodes, a multiple of every L.
const wideDepth = 32

// A hopperWide is what an assembly kernel for all operands is given: a strip of tiles and a part of its depth. The
// assembly reads it by the names of its fields.
type hopperWide struct {
	depth  int // steps of blocks of 8 products, wideDepth or less
	steps  int
	blocks int
	tiles  int

	a     unsafe.Pointer // the values of the first panel of A, from where the steps begin
	panel int            // bytes from there to the next panel
	b     unsafe.Pointer // the values of B, from where the steps begin
	half  int            // bytes from there to the second half of the columns

	src unsafe.Pointer // see KernelFunc
	lds int
	dst unsafe.Pointer
	ldd int

	normalA, normalB int32  // the exponent fields of the smallest normal elements
	bias             int32  // those of 2^E as a float32 and of 2^(F-E) as a float64 together
	kept             uint64 // the bits of a sum in float64 that a result has

	places *[wideBytes]byte // for decoded operands
}

// wideBytes is what decoded operands take: constants; float64s and exponents of 16 bits, those of A twice; and what
// makes a multiple of 64 of the address, and loads beyond the end harmless.
const wideBytes = 256 + wideDepth*(12*8+10*64) + 64 + 64

// wide multiplies tiles of any operands and accumulators. It is mulExact, in assembly.
func (c hopperCode) wide(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, f16 bool) {
	if k == 0 {
		c.mulExact(k, m, a, b, src, lds, dst, ldd, f16)
		return
	}
	pa, pb := c.panelAt(a, sideA, k), c.panelAt(b, sideB, k)
	h := pb.header
	call := hopperWide{
		places: new([wideBytes]byte),
		blocks: int(h.products) / 8, tiles: m, panel: c.bytes(sideA, k), half: k * c.part * 4,
		src: src, lds: lds, dst: dst, ldd: ldd,
		normalA: 127 + pa.header.normal, normalB: 127 + h.normal, bias: 127 + 1023 + h.fraction,
		kept: ^uint64(0) << (52 - h.result),
	}
	for k0 := 0; k0 < k; k0 += wideDepth {
		call.depth = min(k-k0, wideDepth)
		call.steps = call.depth / int(h.products)
		call.a, call.b = unsafe.Add(pa.values, k0*c.mr*4), unsafe.Add(pb.values, k0*c.part*4)
		switch {
		case c.zmm && f16:
			wideHopper512F16(&call)
		case c.zmm:
			wideHopper512(&call)
		case f16:
			wideHopper256F16(&call)
		default:
			wideHopper256(&call)
		}
		call.src, call.lds = dst, ldd
	}
}
