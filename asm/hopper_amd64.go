//go:build amd64 && !purego

package asm

import "unsafe"

// A hopperCall is what an assembly kernel is given: a strip of tiles, or a part of its depth. The assembly reads it
// by the names of its fields.
type hopperCall struct {
	steps int // of L products, 1 or more
	tiles int // 1 or more

	head    unsafe.Pointer // the header of the first panel of A
	a, aexp unsafe.Pointer // its values and exponents, from where the steps begin
	panel   int            // bytes from there to the next panel

	b    unsafe.Pointer // the values of B, from where the steps begin
	half int            // bytes from there to the second half of the columns
	bexp unsafe.Pointer // its exponents
	bmax int            // its largest exponent

	src unsafe.Pointer // see KernelFunc
	lds int
	dst unsafe.Pointer
	ldd int

	infinite int // set to 1 if an accumulator in f16 became infinite, after which it is wrong
}

// A hopperCode is the assembly of a kernel. The functions are called by their names, not through variables, which would
// move their arguments to the heap.
type hopperCode struct {
	*hopperShape
	zmm bool // AVX-512, otherwise AVX2
}

var (
	code512 = hopperCode{&hopperShape512, true}
	code256 = hopperCode{&hopperShape256, false}
)

// packers returns the packers of one side, which pack the values of groups of rows, or columns, as native packers do.
func (c hopperCode) packers(side panelSide, group int, native *[numTypes][2]PackFunc) (all [numTypes][2]PackFunc) {
	for t := range Type(numTypes) {
		for slot, kContiguous := range []bool{false, true} {
			p := hopperPacker{hopperShape: c.hopperShape, t: t, side: side, group: group, finish: c.finish}
			if pack := native[widened(t)][slot]; side == sideA && !kContiguous {
				p.values = p.widening(false, p.across(c.zmm, widened(t), pack))
			} else {
				p.partwise(kContiguous, pack)
			}
			all[t][slot] = p.packFunc(kContiguous)
		}
	}
	return all
}

// steps calls the assembly for steps of products products.
func (c hopperCode) steps(products int32, call *hopperCall) {
	switch {
	case c.zmm && products == 8:
		mulHopper512x8(call)
	case c.zmm && products == 16:
		mulHopper512x16(call)
	case c.zmm:
		mulHopper512x32(call)
	case products == 8:
		mulHopper256x8(call)
	case products == 16:
		mulHopper256x16(call)
	default:
		mulHopper256x32(call)
	}
}

// stepsF16 is steps for accumulators in f16.
func (c hopperCode) stepsF16(products int32, call *hopperCall) {
	switch {
	case c.zmm && products == 16:
		mulHopper512F16x16(call)
	case c.zmm:
		mulHopper512F16x32(call)
	case products == 16:
		mulHopper256F16x16(call)
	default:
		mulHopper256F16x32(call)
	}
}

// hopperChunk is the number of elements of K in a call of assembly, a multiple of every L: B stays in the first cache.
const hopperChunk = 128

// maxCallTiles bounds the tiles of one call of assembly, to keep it short.
const maxCallTiles = 32

// mul is a KernelFunc.
func (c hopperCode) mul(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c.strips(k, m, a, b, src, lds, dst, ldd, false)
}

// mulF16 is Kernel.MulF16.
func (c hopperCode) mulF16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	c.strips(k, m, a, b, src, lds, dst, ldd, true)
}

// strips does what tiles it can in 32 bits, and the others wide.
func (c hopperCode) strips(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, f16 bool) {
	bytes := c.bytes(sideA, k)
	fits := func(p int) bool {
		return k > 0 && hopperFits((*hopperHeader)(unsafe.Add(a, p*bytes)), (*hopperHeader)(b), k) &&
			(src == nil || c.tame(tileAt(src, p, c.mr, lds), lds))
	}
	for p := 0; p < m; {
		n, fit := 1, fits(p)
		for p+n < m && n < maxCallTiles && fits(p+n) == fit {
			n++
		}
		pa, from, to := unsafe.Add(a, p*bytes), tileAt(src, p, c.mr, lds), tileAt(dst, p, c.mr, ldd)
		if !fit || !c.strip(k, n, pa, b, from, lds, to, ldd, f16) {
			c.wide(k, n, pa, b, from, lds, to, ldd, f16)
		}
		p += n
	}
}

// strip multiplies tiles that fit, a piece of K at a time. It reports whether it could: in f16 it cannot continue from
// infinities.
func (c hopperCode) strip(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, f16 bool) bool {
	pa, pb := c.panelAt(a, sideA, k), c.panelAt(b, sideB, k)
	call := hopperCall{
		tiles: m, head: a, panel: c.bytes(sideA, k),
		half: k * c.part * 4, bmax: int(pb.header.largest),
		src: src, lds: lds, dst: dst, ldd: ldd,
	}
	for k0 := 0; k0 < k; k0 += hopperChunk {
		call.steps = min(k-k0, hopperChunk) / int(pb.header.products)
		call.a, call.aexp = unsafe.Add(pa.values, k0*c.mr*4), unsafe.Add(pa.exponents, k0*c.mr*4)
		call.b, call.bexp = unsafe.Add(pb.values, k0*c.part*4), unsafe.Add(pb.exponents, k0*c.pitch)
		if f16 {
			c.stepsF16(pb.header.products, &call)
		} else {
			c.steps(pb.header.products, &call)
		}
		if call.infinite != 0 {
			return false
		}
		call.src, call.lds = dst, ldd
	}
	return true
}

// tame reports whether the assembly can start from the accumulators of the tile at src, whose rows are lds bytes
// apart: each is a zero, or has a magnitude from 2^minAccumulator to below 2^maxAccumulator. It is tameGo, in
// assembly.
func (c hopperCode) tame(src unsafe.Pointer, lds int) bool {
	wild := 0
	if c.zmm {
		tameHopper512(src, lds, c.mr, tameFrom, tameSpan, &wild)
	} else {
		tameHopper256(src, lds, c.mr, tameFrom, tameSpan, &wild)
	}
	return wild == 0
}
