package hopper

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkMultiply(b *testing.B) {
	const m, n, k = 64, 128, 256
	for _, name := range []string{"bf16", "f16", "tf32", "e4m3", "f16 f16"} {
		b.Run(name, func(b *testing.B) {
			s := specs[name]
			r := rand.New(rand.NewPCG(1, 2))
			x := make([]uint32, m*k)
			for i := range x {
				x[i] = operand(r, s.A, 2)
			}
			y := make([]uint32, n*k)
			for i := range y {
				y[i] = operand(r, s.B, 2)
			}
			d := make([]uint32, m*n)
			for b.Loop() {
				multiply(s, d, n, x, y, k)
			}
			b.ReportMetric(2*m*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(b.Elapsed().Seconds()*1e9/(m*n*k*float64(b.N)), "ns/product")
		})
	}
}

func BenchmarkPackRows(b *testing.B) {
	for name, f := range map[string]Format{"bf16": BF16, "f16": F16, "e4m3": E4M3, "tf32": TF32} {
		b.Run(name, func(b *testing.B) {
			rows := make([]Row, 256)
			var p Panel
			for b.Loop() {
				p.PackRows(f, rows, false)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(256*32/f.Size()*b.N), "ns/element")
		})
	}
}
