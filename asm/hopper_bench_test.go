package asm

import (
	"testing"
	"unsafe"
)

// hopperRunnable calls f for every kernel of Hopper's arithmetic that runs here.
func hopperRunnable(b *testing.B, f func(b *testing.B, k *Kernel)) {
	for _, k := range Kernels() {
		if k.Arithmetic != Hopper {
			continue
		}
		b.Run("kernel="+k.Name, func(b *testing.B) {
			if err := k.Supported(); err != nil {
				b.Skip(err)
			}
			f(b, k)
		})
	}
}

// BenchmarkHopperMul multiplies a block of A that lies in L2 by a panel of B.
func BenchmarkHopperMul(b *testing.B) {
	const depth, rows = 256, 96
	hopperRunnable(b, func(b *testing.B, k *Kernel) {
		for _, typ := range []Type{BF16, F32} {
			b.Run("type="+typ.String(), func(b *testing.B) {
				var peak float64
				for range 5 {
					peak = max(peak, peakFlops(k))
				}
				m := rows / k.MR
				pa, pb := aligned(m*k.PanelA(depth)), aligned(k.PanelB(depth))
				hopperFill(k, typ, pa, pb, rows, depth)
				pc := aligned(rows * k.NR * 4)
				n := 0
				for b.Loop() {
					k.Mul(depth, m, pa, pb, nil, 0, pc, k.NR*4)
					n++
				}
				flops := float64(n) * float64(2*m*k.MR*k.NR*depth) / b.Elapsed().Seconds()
				b.ReportMetric(flops/1e9, "GFLOP/s")
				b.ReportMetric(100*flops/peak, "%peak")
				b.ReportMetric(0, "ns/op")
			})
		}
	})
}

// hopperFill packs random operands.
func hopperFill(k *Kernel, typ Type, pa, pb unsafe.Pointer, rows, depth int) {
	n := max(rows, k.NR) * depth
	src := make([]uint32, n)
	a, b := cublasOperand(BF16, 1, n), cublasOperand(BF16, 2, n)
	for i, x := range a {
		src[i] = uint32(x)<<16 | uint32(b[i])
	}
	p := unsafe.Pointer(&src[0])
	k.PackA(typ, true)(pa, p, depth*typ.Size(), rows, depth)
	k.PackB(typ, true)(pb, p, depth*typ.Size(), k.NR, depth)
}
