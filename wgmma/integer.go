package wgmma

import (
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
)

// halves are the bf16 of each byte, unsigned and signed.
var halves = func() (h [2][256]uint16) {
	for u := range 256 {
		h[0][u], h[1][u] = bf16.FromFloat32(float32(u)).Bits(), bf16.FromFloat32(float32(int8(u))).Bits()
	}
	return h
}()

// widen returns an operand of 8-bit integers in bf16.
func (w *Warpgroup) widen(o dense, signed bool) dense {
	half := &halves[0]
	if signed {
		half = &halves[1]
	}
	bytes := sized(&w.scratch.wide, 2*len(o.bytes))
	wide := unsafe.Slice((*uint16)(unsafe.Pointer(&bytes[0])), len(o.bytes))
	for i, u := range o.bytes {
		wide[i] = half[u]
	}
	return dense{bytes, 2 * o.pitch, o.major}
}

// spread returns a sparse A with the zeros that are not stored.
func (w *Warpgroup) spread(o dense, chain []*instruction) dense {
	bytes := sized(&w.scratch.zeros, 2*len(o.bytes))
	clear(bytes)
	for i, in := range chain {
		for row := range M {
			to, from := bytes[2*(row*o.pitch+i*RowBytes):], o.bytes[row*o.pitch+i*RowBytes:]
			for k, at := range in.selected[row] {
				to[at] = from[k]
			}
		}
	}
	return dense{bytes, 2 * o.pitch, o.major}
}

// multiplyIntegers executes a chain with a native kernel.
func (w *Warpgroup) multiplyIntegers(k *asm.Kernel, chain []*instruction) {
	op, d := chain[0].op, chain[0].d
	p := w.pack(k, chain)
	tiles := (M + k.MR - 1) / k.MR
	memory := sized(&w.scratch.sums, tiles*k.MR*k.NR*4)
	sums := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), M*k.NR)
	for j := 0; j < op.N; j += k.NR {
		k.Mul(p.words, tiles, p.a, unsafe.Add(p.b, j/k.NR*p.panelB), nil, 0, unsafe.Pointer(&sums[0]), 4*k.NR)
		for i := range M {
			op.add(d.elem[i*d.pitch+j:][:min(k.NR, op.N-j)], sums[i*k.NR:])
		}
	}
}

// add adds integers to accumulators, as op does.
func (op Op) add(d []uint32, sums []float32) {
	sums = sums[:len(d)]
	if op.Overwrite {
		clear(d)
	}
	if op.Saturate {
		for j, v := range sums {
			d[j] = uint32(min(max(int64(int32(d[j]))+int64(v), math.MinInt32), math.MaxInt32))
		}
		return
	}
	for j, v := range sums {
		d[j] += uint32(int32(v))
	}
}
