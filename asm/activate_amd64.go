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
	lanes(0), lanes(0.5), lanes(1),
	lanes(rounding), lanes(log2e), lanes(ln2), lanes(ln2Rest),
	lanes(exp6), lanes(exp5), lanes(exp4), lanes(exp3), lanes(exp2),
	lanes(expLeast), lanes(tanhMost), lanes(tanhUnit), lanes(siluMost),
	lanes(geluTanhMost), lanes(geluTanh1), lanes(geluTanh3), lanes(geluMost), lanes(geluUnit),
	lanes(math.Float32frombits(1<<31 - 1)), lanes(minusZero),
}

func lanes(x float32) (v [avx2Vector]float32) {
	for i := range v {
		v[i] = x
	}
	return v
}
