package mma_test

import (
	"testing"

	"example.com/leafhopper/mma"
)

// BenchmarkMMA is one instruction of each kind.
func BenchmarkMMA(b *testing.B) {
	for _, op := range every() {
		b.Run(op.String(), func(b *testing.B) {
			d, x, y := op.FragmentD(), op.FragmentA(), op.FragmentB()
			rd, rx, ry := d.Make(), x.Make(), y.Make()
			for lane := range mma.Lanes {
				for i := range x.Elements() {
					x.SetFloat32(rx, lane, i, float32(lane%7-3)/4*float32(i%5+1))
				}
				for i := range y.Elements() {
					y.SetFloat32(ry, lane, i, float32(lane%5-2)*float32(i%3+1))
				}
			}
			var w mma.Warp
			b.ReportAllocs()
			for b.Loop() {
				clear(rd)
				if err := w.MMA(op, rd, rx, ry); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
