//go:build linux && amd64 && !purego

package asm

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// BenchmarkAMX multiplies rows of A by panels of B, each goroutine operands of its own, by shape and by depth in
// words: half the elements of K. Run it with -cpu 1 and with all.
func BenchmarkAMX(b *testing.B) {
	k := hardwareAMX(b)
	const maxRows, maxCols, maxDepth, maxPitch = 512, 960, 512, 8192
	type operands struct{ a, b, c unsafe.Pointer }
	random := rand.New(rand.NewPCG(22, 23))
	all := make([]operands, runtime.GOMAXPROCS(0))
	for i := range all {
		x := operands{aligned(maxRows * maxDepth * 4), aligned(maxCols * maxDepth * 4), aligned(maxRows * maxPitch)}
		for _, words := range [][]uint32{unsafe.Slice((*uint32)(x.a), maxRows*maxDepth),
			unsafe.Slice((*uint32)(x.b), maxCols*maxDepth)} {
			for w := range words {
				words[w] = random.Uint32()&0x80ff80ff | 0x3f003f00
			}
		}
		all[i] = x
	}
	for _, shape := range []struct {
		name              string
		rows, cols, pitch int // bytes from one row of C to the next
	}{
		{"strip", 512, 32, 128},
		{"slab", 128, 960, 4096},
		{"block", 512, 576, 576 * 4},
		{"matrix", 512, 576, maxPitch},
	} {
		for _, depth := range []int{64, 128, 192, 256, maxDepth} {
			b.Run(fmt.Sprintf("shape=%s/depth=%d", shape.name, depth), func(b *testing.B) {
				var goroutines atomic.Int32
				b.RunParallel(func(pb *testing.PB) {
					x := all[goroutines.Add(1)-1]
					for pb.Next() {
						for j := 0; j < shape.cols; j += k.NR {
							c := unsafe.Add(x.c, j*4)
							k.Mul(depth, shape.rows/k.MR, x.a, unsafe.Add(x.b, j*depth*4), c, shape.pitch, c,
								shape.pitch)
						}
					}
				})
				flops := float64(b.N) * float64(2*shape.rows*shape.cols*depth*k.KPack)
				b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
