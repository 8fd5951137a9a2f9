package asm

import (
	"sync"
	"unsafe"
)

// sumTiles is how many tiles of sums of a block of K wait to be added, and blockSums memory for them.
const sumTiles = 4

var blockSums = sync.Pool{New: func() any { return new([sumTiles * 8 * maxHopperNR]float32) }}

// adding returns mul, which goes on with the chain of src, as a whole [KernelFunc]: where lds is negative, it sums a
// block of K for itself and adds that to src.
func (s *hopperShape) adding(mul KernelFunc) KernelFunc {
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
		if src == nil || lds >= 0 {
			mul(k, m, a, b, src, lds, dst, ldd)
			return
		}
		mem, pitch := blockSums.Get().(*[sumTiles * 8 * maxHopperNR]float32), s.nr*4
		for p := 0; p < m; p += sumTiles {
			n := min(sumTiles, m-p)
			mul(k, n, unsafe.Add(a, p*s.bytes(sideA, k)), b, nil, pitch, unsafe.Pointer(mem), pitch)
			to := tileAt(dst, p, s.mr, ldd)
			if src != dst || lds != -ldd {
				CopyRows(to, ldd, tileAt(src, p, s.mr, -lds), -lds, n*s.mr, pitch)
			}
			Combine(to, ldd, unsafe.Pointer(mem), pitch, n*s.mr, s.nr, 1, 1)
		}
		blockSums.Put(mem)
	}
}
