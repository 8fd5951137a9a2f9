package asm

import (
	"math"
	"unsafe"
)

// mulFMA64 is the twin of the f64 kernels: a float64 fused multiply-add per product. Their tiles have half as many
// columns as those of float32, which are as many vectors.
func mulFMA64(mr, nr, k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	var tile [maxTile]float64
	acc := tile[:mr*nr]
	bs := unsafe.Slice((*float64)(b), nr*k)
	for p := range m {
		as := unsafe.Slice((*float64)(unsafe.Add(a, p*mr*k*8)), mr*k)
		loadTile(acc, tileAt(src, p, mr, lds), lds, mr, nr)
		for kd := range k {
			row := bs[kd*nr:][:nr]
			for i, x := range as[kd*mr:][:mr] {
				out := acc[i*nr:][:nr]
				for j, y := range row {
					out[j] = math.FMA(x, y, out[j])
				}
			}
		}
		storeTile(tileAt(dst, p, mr, ldd), ldd, acc, tileAt(src, p, mr, lds), lds, mr, nr)
	}
}

// fma returns x·y + z rounded once, to nearest even.
func fma[F float](x, y, z F) F {
	if unsafe.Sizeof(x) == 4 {
		return F(fma32(float32(x), float32(y), float32(z)))
	}
	return F(math.FMA(float64(x), float64(y), float64(z)))
}

func mulFMA8x16(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	mulFMA64(8, 16, k, m, a, b, src, lds, dst, ldd)
}

func mulFMA4x12(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	mulFMA64(4, 12, k, m, a, b, src, lds, dst, ldd)
}
