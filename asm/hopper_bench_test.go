package asm

import (
	"fmt"
	"math/rand/v2"
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
		for _, typ := range []Type{BF16, F32, E4M3} {
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

// BenchmarkHopperMulF16 is BenchmarkHopperMul with accumulators in f16.
func BenchmarkHopperMulF16(b *testing.B) {
	const depth, rows = 256, 96
	hopperRunnable(b, func(b *testing.B, k *Kernel) {
		for _, typ := range []Type{F16, E4M3} {
			b.Run("type="+typ.String(), func(b *testing.B) {
				m := rows / k.MR
				pa, pb := aligned(m*k.PanelA(depth)), aligned(k.PanelB(depth))
				hopperFill(k, typ, pa, pb, rows, depth)
				pc := aligned(rows * k.NR * 4)
				for b.Loop() {
					k.MulF16(depth, m, pa, pb, nil, 0, pc, k.NR*4)
				}
				flops := float64(b.N) * float64(2*m*k.MR*k.NR*depth)
				b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	})
}

// hopperFill packs random operands.
func hopperFill(k *Kernel, typ Type, pa, pb unsafe.Pointer, rows, depth int) {
	r := rand.New(rand.NewPCG(31, 32))
	a, b := newHopperMatrix(r, typ, rows, depth, hopperOperands[0]),
		newHopperMatrix(r, typ, k.NR, depth, hopperOperands[0])
	k.PackA(typ, true)(pa, unsafe.Pointer(&a.bytes[0]), depth*typ.Size(), rows, depth)
	k.PackB(typ, true)(pb, unsafe.Pointer(&b.bytes[0]), depth*typ.Size(), k.NR, depth)
}

// BenchmarkHopperPack packs both operands of a product of 1024 in stages of 512.
func BenchmarkHopperPack(b *testing.B) {
	const n, depth = 1024, 512
	hopperRunnable(b, func(b *testing.B, k *Kernel) {
		for _, typ := range []Type{BF16, F16, F32, E4M3} {
			for _, kContiguous := range []bool{true, false} {
				b.Run(fmt.Sprintf("type=%v/kContiguous=%v", typ, kContiguous), func(b *testing.B) {
					a := newHopperMatrix(rand.New(rand.NewPCG(33, 34)), typ, n, n, hopperOperands[0])
					p := unsafe.Pointer(&a.bytes[0])
					pa := aligned((n/k.MR + 1) * k.PanelA(depth))
					pb := aligned((n/k.NR + 1) * k.PanelB(depth))
					stride, size := n*typ.Size(), typ.Size()
					if !kContiguous {
						size = stride
					}
					count := 0
					for b.Loop() {
						for k0 := 0; k0 < n; k0 += depth {
							k.PackA(typ, kContiguous)(pa, unsafe.Add(p, k0*size), stride, n, depth)
							k.PackB(typ, kContiguous)(pb, unsafe.Add(p, k0*size), stride, n, depth)
						}
						count++
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(count), "ms")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	})
}

// BenchmarkHopperProduct is whole products of 1024, packing included, on one goroutine: of ordinary elements, and of
// such that every tile has some that are not.
func BenchmarkHopperProduct(b *testing.B) {
	const n = 1024
	for _, typ := range []Type{BF16, F16, F32, E4M3, E5M2} {
		for _, kind := range []string{"ordinary", "-Inf", "causal", "NaN", "wide"} {
			b.Run(fmt.Sprintf("type=%v/A=%s", typ, kind), func(b *testing.B) {
				x, y := benchOperand(typ, n, kind), benchOperand(typ, n, "ordinary")
				if x == nil {
					b.Skip("the type has none")
				}
				hopperRunnable(b, func(b *testing.B, k *Kernel) {
					p := hopperProduct{typ, typ, n, n, n, true, x, y, 512}
					if k.Name == "hopper-go" {
						p.m, p.n = 128, 128
					}
					count := 0
					for b.Loop() {
						p.run(k, nil)
						count++
					}
					b.ReportMetric(float64(count)*2*float64(p.m)*float64(p.n)*float64(p.k)/b.Elapsed().Seconds()/1e9,
						"GFLOP/s")
					b.ReportMetric(0, "ns/op")
				})
			})
		}
	}
}

// benchOperand returns n × n elements, or nil if the type has none of that kind. Every 4 rows by 256 columns hold an
// infinity, a NaN or a number far smaller than the others; or infinities mask what is above the diagonal.
func benchOperand(t Type, n int, kind string) unsafe.Pointer {
	m := newHopperMatrix(rand.New(rand.NewPCG(37, 38)), t, n, n, hopperOperands[0])
	special, ok := map[string]map[Type]uint32{
		"ordinary": {BF16: 0, F16: 0, F32: 0, E4M3: 0, E5M2: 0},
		"-Inf":     {BF16: 0xff80, F16: 0xfc00, F32: 0xff800000, E5M2: 0xfc},
		"causal":   {BF16: 0xff80, F16: 0xfc00, F32: 0xff800000, E5M2: 0xfc},
		"NaN":      {BF16: 0x7fc0, F16: 0x7e00, F32: 0x7fc00000, E4M3: 0x7f, E5M2: 0x7f},
		"wide":     {BF16: 0x0180, F32: 0x01800000},
	}[kind][t]
	if !ok {
		return nil
	}
	for i := range n {
		for k := range n {
			if kind == "causal" && k > i || kind != "causal" && kind != "ordinary" && i%4 == 1 && k%256 == i%256 {
				for j := range t.Size() {
					m.bytes[(i*n+k)*t.Size()+j] = byte(special >> (8 * j))
				}
			}
		}
	}
	return unsafe.Pointer(&m.bytes[0])
}
