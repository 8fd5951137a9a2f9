//go:build amd64 && !purego

package asm

import (
	"math"
	"unsafe"
)

// applyVectors is applyGeneric, in assembly, if there is any.
func applyVectors(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) bool {
	switch {
	case hasAVX512:
		apply512(dst, ldd, src, lds, rows, cols, v.At, v.Row, v.Col, int(how), unsafe.Pointer(&activateConst))
	case hasAVX2:
		apply256(dst, ldd, src, lds, rows, cols, v.At, v.Row, v.Col, int(how), unsafe.Pointer(&activateConst))
	default:
		return false
	}
	return true
}

// activateConst are the constants of activate, in the order of the generator: each for all lanes of a vector of AVX2.
var activateConst = [...][avx2Vector]float32{
	broadcast(0), broadcast(0.5), broadcast(1),
	broadcast(rounding), broadcast(log2e), broadcast(ln2), broadcast(ln2Rest),
	broadcast(exp6), broadcast(exp5), broadcast(exp4), broadcast(exp3), broadcast(exp2),
	broadcast(expLeast), broadcast(tanhMost), broadcast(tanhUnit), broadcast(siluMost),
	broadcast(geluTanhMost), broadcast(geluTanh1), broadcast(geluTanh3), broadcast(geluMost), broadcast(geluUnit),
	broadcast(math.Float32frombits(1<<31 - 1)), broadcast(minusZero),
}

// broadcast returns x in every lane.
func broadcast(x float32) (v [avx2Vector]float32) {
	for i := range v {
		v[i] = x
	}
	return v
}
